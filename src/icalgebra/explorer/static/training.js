// Panel "training": the same sequence asked of log-spaced checkpoints of a run.
import { bars, best, el, fill, percent } from "explorer/draw.js";
import { change, state } from "explorer/state.js";

export function offerTraining(start, measure, message = "") {
  if (!start.runs.length) {
    fill("training", el("p", { class: "note" }, "To see how a model learned to answer, start the explorer with a run folder: icalgebra train tiny --log-checkpoints 12 --out runs/tiny, then icalgebra explore --run runs/tiny"));
    return;
  }
  const pick = el("select", { id: "run", onchange: () => change({ run: pick.value }) }, ...start.runs.map((name) => el("option", { value: name, selected: name === state.run }, name)));
  fill("training", el("div", { class: "controls" }, el("label", { "data-word": "checkpoint" }, "run ", pick), el("button", { type: "button", id: "ask-run", onclick: measure }, "ask its checkpoints")),
    el("p", { class: "note" }, message));
}

export function drawTraining(found) {
  const at = Math.max(0, Math.min(state.checkpoint < 0 ? found.steps.length - 1 : state.checkpoint, found.steps.length - 1));
  const target = best(found.kind === "entailed" || found.kind === "guess" ? found.posterior : found.probabilities.at(-1), found.variables);
  const slider = el("input", { type: "range", id: "checkpoint", min: 0, max: found.steps.length - 1, value: at, "aria-label": "checkpoint", oninput: () => { change({ checkpoint: Number(slider.value) }); show(Number(slider.value)); } });
  const now = el("div", { id: "checkpoint-bars" });
  const show = (i) => now.replaceChildren(el("b", {}, `after ${found.steps[i].toLocaleString("en")} steps `), bars(found.probabilities[i], found.variables, "var(--model)"));
  show(at);
  document.querySelector("#training .found")?.remove();
  document.querySelector("#training .body").append(el("div", { class: "found" }, el("p", { class: "mono note" }, found.text.length > 90 ? `…${found.text.slice(-90)}?` : `${found.text}?`), slider, now, curve(found, target),
    el("p", { class: "note" }, `The oracle: ${found.kind}. The curve: P(${target}) at every checkpoint, steps on a log scale.`)));
}

function curve(found, target) {
  const at = found.variables.indexOf(target), w = 420, h = 110;
  const last = Math.log(Math.max(2, found.steps.at(-1)));
  const points = found.steps.map((step, i) => [20 + ((w - 40) * Math.log(Math.max(1, step))) / last, h - 18 - (h - 30) * found.probabilities[i][at]]);
  const make = (tag, attributes, text) => { const node = document.createElementNS("http://www.w3.org/2000/svg", tag); Object.entries(attributes).forEach(([k, x]) => node.setAttribute(k, x)); if (text) node.textContent = text; return node; };
  const svg = make("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": `P(${target}) from ${percent(found.probabilities[0][at])} to ${percent(found.probabilities.at(-1)[at])}`, style: "width:100%;max-width:30rem" });
  svg.append(make("line", { x1: 20, x2: w - 20, y1: h - 18, y2: h - 18, stroke: "currentColor", "stroke-opacity": .4 }));
  svg.append(make("polyline", { points: points.map((p) => p.join(",")).join(" "), fill: "none", stroke: "var(--model)", "stroke-width": 2 }));
  points.forEach(([x, y]) => svg.append(make("circle", { cx: x, cy: y, r: 3, fill: "var(--model)" })));
  svg.append(make("text", { x: 20, y: h - 4, "font-size": 10, fill: "currentColor" }, `step ${found.steps[0]}`));
  svg.append(make("text", { x: w - 20, y: h - 4, "font-size": 10, fill: "currentColor", "text-anchor": "end" }, `step ${found.steps.at(-1)}`));
  return svg;
}

// Panel "training": the same sequence asked of log-spaced checkpoints of a run, beside the skills that the run had then.
import { bars, best, el, fill, percent, svg } from "explorer/draw.js";
import { change, state } from "explorer/state.js";

const WIDTH = 460, LEFT = 92, RIGHT = 10, CURVE = 110, ROW = 17;

export function offerTraining(start, measure, message = "", elsewhere = null) {
  if (!start.runs.length) {
    fill("training", el("p", { class: "note" }, "To see how a model learned to answer, start the explorer with a run folder: ",
      el("code", {}, "icalgebra train tiny --log-checkpoints 30 --out runs/tiny"), ", then ", el("code", {}, "icalgebra explore --run runs/tiny")));
    return;
  }
  const pick = el("select", { id: "run", onchange: () => change({ run: pick.value }) },
    ...start.runs.map((name) => el("option", { value: name, selected: name === state.run }, name)));
  const button = el("button", { type: "button", id: "ask-run", onclick: measure }, "ask its checkpoints");
  fill("training", elsewhere ?? el("div", { class: "controls" }, el("label", { "data-word": "checkpoint" }, "run ", pick), button),
    el("p", { class: "note" }, message));
}

export function drawTraining(found) {
  const last = found.steps.length - 1;
  const at = state.checkpoint < 0 ? last : Math.min(Math.round(state.checkpoint), last);
  const knowable = found.kind === "entailed" || found.kind === "guess";
  const target = best(knowable ? found.posterior : found.probabilities.at(-1), found.variables);
  const now = el("div", { id: "checkpoint-bars" }), picture = el("div", {});
  const show = (i) => {
    now.replaceChildren(el("b", {}, `after ${found.steps[i].toLocaleString("en")} steps `), bars(found.probabilities[i], found.variables, "var(--model)"),
      el("p", { class: "note", id: "learned" }, found.skills.length ? `Learned so far: ${found.learned[i].join(", ") || "nothing yet"}.` : ""));
    picture.replaceChildren(draw(found, target, found.steps[i]));
  };
  const slider = el("input", { type: "range", id: "checkpoint", min: 0, max: last, value: at, "aria-label": "checkpoint" });
  slider.addEventListener("input", () => { change({ checkpoint: Number(slider.value) }); show(Number(slider.value)); });
  show(at);
  document.querySelector("#training .found")?.remove();
  document.querySelector("#training .body").append(el("div", { class: "found" }, slider, now, picture,
    el("p", { class: "note" }, `Above: on this query, P(${target}) and, dashed, P(closure set ${[...found.closure].join(" ")}). ` +
      "Below: the run's own evaluations, the stronger the colour, the more accurate. Steps on a log scale.")));
}

// The probabilities on this query as curves, the run's accuracies as strips; a line marks the slider's step.
function draw(found, target, step) {
  const most = Math.log(Math.max(2, found.steps.at(-1)));
  const x = (s) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(Math.max(1, s))) / most;
  const y = (p) => 8 + (CURVE - 16) * (1 - p);
  const height = CURVE + 8 + ROW * found.skills.length + 16;
  const sum = (shares, letters) => [...letters].reduce((total, letter) => total + shares[found.variables.indexOf(letter)], 0);
  const curve = (letters, more) => svg("polyline", { fill: "none", stroke: "var(--model)", "stroke-width": 2, ...more,
    points: found.steps.map((s, i) => `${x(s)},${y(sum(found.probabilities[i], letters))}`).join(" ") });
  const words = (text, top) => svg("text", { x: LEFT - 8, y: top, "font-size": 11, fill: "currentColor", "text-anchor": "end" }, text);
  const ticks = [1, 10, 100, 1000, 10000, 100000].filter((s) => s <= found.steps.at(-1));
  const ends = (skill, i) => (i + 1 < skill.steps.length ? skill.steps[i + 1] : Math.max(skill.steps[i], found.steps.at(-1)));
  const strip = (skill, row) => skill.values.map((value, i) => svg("rect", { x: x(skill.steps[i]), y: CURVE + 8 + ROW * row, height: ROW - 3,
    width: Math.max(1, x(ends(skill, i)) - x(skill.steps[i])), fill: "var(--up)", "fill-opacity": value }));
  const label = `P(${target}) from ${percent(sum(found.probabilities[0], target))} to ${percent(sum(found.probabilities.at(-1), target))}`;
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label, class: "phases" },
    words("1", 12), words("0", CURVE - 4), words(`P(${target})`, CURVE / 2),
    svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0), stroke: "currentColor", "stroke-opacity": 0.3 }),
    curve(found.closure, { "stroke-dasharray": "4 3", "stroke-opacity": 0.7 }), curve(target, {}),
    ...found.skills.flatMap((skill, row) => [words(skill.label, CURVE + 8 + ROW * row + 11), ...strip(skill, row)]),
    ...ticks.map((s) => svg("text", { x: x(s), y: height - 3, "font-size": 10, fill: "currentColor", "text-anchor": "middle" }, s.toLocaleString("en"))),
    svg("line", { x1: x(step), x2: x(step), y1: 2, y2: height - 14, stroke: "var(--down)", "stroke-width": 2 }));
}

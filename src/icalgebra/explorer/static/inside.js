// Panel "inside": heads × layers as a map, MLPs beside them, the logit lens.
import { bars, body, el, fill, onPoint, percent, shade, signed } from "explorer/draw.js";
import { change, state } from "explorer/state.js";
import { isStatic } from "explorer/api.js";

const VIEWS = { ablation: "ablation effect", direct: "direct logit", attention: "attention on the proof" };

// answer: the sequence's; found: heads, MLPs, lens; ablation: null while it is measured.
export function drawInside(answer, found, ablation, proving) {
  const at = answer.variables.indexOf(found.answer);
  const layers = found.lens.length - 1;
  const pick = el("span", { class: "controls", role: "radiogroup", "aria-label": "what the map shows" }, ...Object.entries(VIEWS).map(([name, words]) => {
    const radio = el("input", { type: "radio", name: "view", value: name, onchange: () => change({ view: name }) });
    radio.checked = state.view === name;
    return el("label", { "data-word": name }, radio, " ", words);
  }));
  const number = (part) => valueOf(part, at, answer, ablation, proving);
  const most = Math.max(0.001, ...found.parts.map((part) => Math.abs(number(part) ?? 0)));
  const cell = (part) => el("td", {}, partButton(part, number(part), most, answer, found, ablation));
  const rows = [...Array(layers).keys()].map((layer) => el("tr", {}, el("th", { scope: "row" }, `layer ${layer}`),
    ...found.parts.filter((part) => layerOf(part.name) === layer).map(cell)));
  fill("inside", pick,
    el("p", { class: "note" }, `At the query's '=', for the model's answer ${found.answer}. Hover: attention over the facts above. Click: ablate or restore` +
      (isStatic ? " (one part on this page)." : ", several at once.")),
    el("div", { class: "scroll" }, el("table", { class: "map", id: "head-map" }, ...rows)),
    el("p", { id: "part-words", class: "note" }, ablationWords(ablation, answer, at)),
    el("h3", { "data-word": "lens", tabindex: 0 }, "Layer by layer (logit lens)"),
    el("div", { class: "lens" }, ...found.lens.flatMap((row, i) => [el("span", {}, i ? `after layer ${i - 1}` : "embedding"), bars(row, answer.variables, "var(--model)", 3)])));
}

const layerOf = (name) => (name.startsWith("mlp") ? Number(name.slice(4)) : Number(name.split(".")[0]));

function valueOf(part, at, answer, ablation, proving) {
  if (state.view === "direct") return part.direct[at];
  if (state.view === "attention") return part.attention.length ? proving.reduce((sum, i) => sum + part.attention[i], 0) : null;
  return ablation ? ablation.toggled[part.name][at] - ablation.together[at] : null;
}

function partButton(part, value, most, answer, found, ablation) {
  const off = state.ablated.includes(part.name);
  const style = { "--amount": Math.abs(value ?? 0) / most, "--tone": (value ?? 0) < 0 ? "var(--down)" : "var(--up)" };
  const toggle = () => change({ ablated: off ? state.ablated.filter((name) => name !== part.name) : isStatic ? [part.name] : [...state.ablated, part.name] });
  const node = el("button", { type: "button", class: off ? "off" : "", "data-part": part.name, "data-value": value, "aria-pressed": String(off), style, onclick: toggle },
    el("b", {}, part.name), value === null ? "–" : signed(value));
  return onPoint(node, () => { shade(part.attention); describe(part, answer, found, ablation); }, () => { shade([]); });
}

function describe(part, answer, found, ablation) {
  const order = [...answer.variables].map((letter, i) => [letter, part.direct[i]]).sort((a, b) => b[1] - a[1]);
  const list = (pairs) => pairs.map(([letter, x]) => `${letter} ${signed(x, 1)}`).join(" ");
  const facts = part.attention.map((w, i) => [w, i]).filter(([w]) => w >= 0.05).sort((a, b) => b[0] - a[0]).slice(0, 4)
    .map(([w, i]) => `${answer.facts[i].text} ${w.toFixed(2)} at ${{ l: "left", r: "right", "=": "=", a: "answer", ",": "the comma behind" }[part.slots[i]]}`);
  const at = answer.variables.indexOf(found.answer);
  const without = ablation ? ` P(${found.answer}) with it ${state.ablated.includes(part.name) ? "restored" : "ablated"}: ${percent(ablation.toggled[part.name][at])}.` : "";
  const node = body("inside").querySelector("#part-words");
  if (node) node.textContent = `${part.name}: promotes ${list(order.slice(0, 3))}; demotes ${list(order.slice(-3).reverse())}.` +
    (facts.length ? ` Attends to ${facts.join(", ")}.` : "") + without;
}

function ablationWords(ablation, answer, at) {
  if (!ablation) return "measuring ablations …";
  if (!ablation.ablated.length) return "Nothing is ablated.";
  return `Without ${ablation.ablated.join(", ")}: P(${answer.variables[at]}) = ${percent(ablation.together[at])}.`;
}

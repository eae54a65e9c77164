// Panel "reliance": which facts the answer rests on, beside those that the proof needs.
import { el, fill, lights, signed } from "explorer/draw.js";
import { change, state } from "explorer/state.js";

export function offerReliance(measure, isStatic) {
  if (isStatic) return measure();
  fill("reliance", words(), el("button", { type: "button", id: "measure", onclick: measure }, "measure (r)"));
}

const words = () => el("p", { class: "note", "data-word": "reliance", tabindex: 0 }, "How far the answer's logit falls if no later token may attend to a fact. Bold: the proof needs it.");

export function drawReliance(answer, found, proving, stop) {
  const busy = found.done < found.total;
  const box = el("input", { type: "checkbox", onchange: () => change({ sorted: box.checked }) });
  box.checked = state.sorted;
  const order = [...found.falls.keys()].filter((i) => found.falls[i] !== null);
  if (state.sorted) order.sort((i, j) => found.falls[j] - found.falls[i]);
  const most = Math.max(0.5, ...order.map((i) => Math.abs(found.falls[i])));
  const total = order.reduce((sum, i) => sum + Math.max(0, found.falls[i]), 0);
  const cited = order.filter((i) => proving.includes(i)).reduce((sum, i) => sum + Math.max(0, found.falls[i]), 0);
  fill("reliance", words(),
    el("div", { class: "controls" }, el("label", {}, box, " largest first"),
      busy ? el("progress", { value: found.done, max: found.total, "aria-label": "facts measured" }) : null,
      busy ? el("button", { type: "button", onclick: stop }, "stop") : null,
      el("span", { class: "note" }, busy ? `${found.done} of ${found.total} facts` : `for ${found.answer}; the proof's facts have ${total ? Math.round((100 * cited) / total) : 0} % of all falls`)),
    el("div", { class: "reliance-list", id: "falls" }, ...order.map((i) => row(i, answer.facts[i], found.falls[i], most, proving.includes(i)))));
}

function row(i, fact, fall, most, cited) {
  const bar = el("i", { class: fall < 0 ? "less" : "", style: { width: `${Math.round((140 * Math.abs(fall)) / most)}px` } });
  return lights(el("div", { tabindex: 0, class: cited ? "cited" : "", "data-fact-fall": i, "data-fall": fall }, el("span", { class: "mono" }, fact.text), bar, signed(fall)), [i]);
}

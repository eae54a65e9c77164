// A tour of about two minutes: seven stops, with the keyboard too.
import { el } from "explorer/draw.js";

const STOPS = [
  ["sequence", "Facts about hidden groups, in order. Letters mean something only here; colours join letters that facts link. The last fact is the question. The buttons above show prepared sequences; below you can sample, type and edit your own."],
  ["answers", "Who says what: the model, the paper's five mechanisms with the facts they use, the rungs of sound deduction with a proof, and the exact posterior. Hover a step of the proof: its facts light up above."],
  ["tables", "The same facts as partial Cayley tables. Small letters are the candidates that closure and cancellation leave. Click an empty cell to ask for it."],
  ["inside", "Every head and MLP at the query's '='. Hover a head to see which facts it attends to; click it to take it out and see whether the answer survives."],
  ["reliance", "Which facts does the answer rest on? Each is hidden from all later tokens in turn. Bold facts are those that the proof needs: often the model uses others as well."],
  ["training", "The same question, asked of the model at several moments of its training: move the slider and see when it learned this skill."],
  ["pair", "Change one fact to make a corrupt sequence, then move single activations from the clean run into it: what brings the answer back carries the information."],
];
let at = -1;

export function tour(step = 1) {
  document.querySelectorAll(".toured").forEach((node) => node.classList.remove("toured"));
  document.getElementById("tour-box")?.remove();
  at += step;
  if (at < 0 || at >= STOPS.length) { at = -1; return; }
  const [panel, words] = STOPS[at];
  const section = document.getElementById(panel);
  section.classList.add("toured");
  section.scrollIntoView({ block: "start", behavior: "smooth" });
  const next = el("button", { type: "button", onclick: () => tour(1) }, at === STOPS.length - 1 ? "done" : "next (→)");
  document.body.append(el("div", { id: "tour-box", role: "dialog", "aria-label": "tour" }, el("b", {}, `${at + 1} of ${STOPS.length}: ${section.querySelector("h2").textContent}`), el("p", {}, words),
    el("div", { class: "controls" }, el("button", { type: "button", onclick: () => tour(-1), disabled: at === 0 }, "back (←)"), next, el("button", { type: "button", onclick: endTour }, "close (Esc)"))));
  next.focus({ preventScroll: true });
}

export const touring = () => at >= 0;
export function endTour() { at = STOPS.length; tour(0); }

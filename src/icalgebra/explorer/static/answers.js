// Panel "answers": model, mechanisms, rungs with proofs, and the exact posterior, side by side.
import { bars, best, el, fill, lights, percent } from "explorer/draw.js";
import { change, state } from "explorer/state.js";
import { isStatic } from "explorer/api.js";

export function drawAnswers(answer, ablation) {
  const v = answer.variables;
  const rows = [who("model", "the model"), el("div", { id: "model-bars" }, bars(answer.model, v, "var(--model)"))];
  if (ablation?.ablated.length) rows.push(who("model without", `the model without ${ablation.ablated.join(", ")}`), bars(ablation.together, v, "var(--down)"));
  if (answer.true_answer) rows.push(who("true", "what was drawn"), el("b", { class: "mono", id: "true-answer" }, answer.true_answer));
  rows.push(who("oracle", "the exact posterior", "oracle"), oracle(answer.oracle, v));
  for (const mechanism of answer.mechanisms) rows.push(who(mechanism.name, mechanism.name, mechanism.name), proved(mechanism, answer.facts));
  for (const rung of answer.rungs) rows.push(who(rung.name, `rung ${rung.name}`, rung.name), rungCell(rung));
  fill("answers", queryChoice(), el("div", { class: "rows" }, ...rows), proofOf(answer.rungs));
}

// One line above the facts: what the model says, and whether it could be known.
export function drawVerdict(answer) {
  const v = answer.variables, said = best(answer.model, v), could = best(answer.oracle.posterior, v);
  const known = {
    entailed: said === could ? `Right: the facts leave no other answer.` : `Wrong: the facts leave only ${could}.`,
    guess: `The facts do not decide; the best guess is ${could} (${percent(Math.max(...answer.oracle.posterior))}).`,
    impossible: "The world that it was trained in cannot produce these facts.",
  }[answer.oracle.kind] ?? "";
  const drawn = answer.true_answer && answer.oracle.kind !== "entailed" ? ` What was drawn: ${answer.true_answer}.` : "";
  document.getElementById("verdict").replaceChildren(el("b", { class: "mono" }, `${answer.facts.at(-1).text}?`),
    " The model says ", el("b", { class: "mono" }, said), ` (${percent(Math.max(...answer.model))}). ${known}${drawn}`);
}

function who(name, words, term) {
  return el("span", { class: "who", "data-word": term ?? null, tabindex: term ? 0 : null, "data-who": name }, words);
}

function queryChoice() {
  const pick = el("select", { id: "query-kind", disabled: isStatic, onchange: () => change({ query: pick.value }) },
    ...["auto", "holdout", "train"].map((name) => el("option", { value: name, selected: name === state.query }, name)));
  return el("label", { class: "note", "data-tip": "How the query was drawn, which the oracle needs: held out of the context, or like any other fact. auto: train where it or its reverse occurs." }, "query drawn as ", pick);
}

function oracle(found, variables) {
  const chip = el("span", { class: `chip ${found.kind}`, "data-word": found.kind, tabindex: 0, id: "kind" }, found.kind);
  const why = found.why ? lights(el("div", { class: "note", tabindex: 0 }, found.why), found.facts) : null;
  const mixtures = found.mixtures.length ? el("div", { class: "note" }, "structures: " + found.mixtures.map(([name, p]) => `${name} ${p.toFixed(2)}`).join(", ")) : null;
  return el("div", { id: "oracle-bars" }, chip, " ", found.kind === "impossible" || found.kind === "unknown" ? "" : bars(found.posterior, variables, "var(--oracle)"), why, mixtures);
}

function proved(mechanism, facts) {
  const found = Object.entries(mechanism.answers);
  if (!found.length) return el("span", { class: "note" }, "–");
  return el("span", { "data-mechanism": mechanism.name }, ...found.flatMap(([answer, used], i) => [i ? " or " : "",
    lights(el("span", { tabindex: 0 }, el("b", { class: "mono" }, answer), " from ", el("span", { class: "mono" }, used.map((j) => facts[j].text).join(" "))), used)]));
}

const rungCell = (rung) => el("span", { "data-rung": rung.name }, rung.answer ? el("b", { class: "mono" }, rung.answer) : el("span", { class: "note" }, "does not decide"),
  rung.proof.length ? el("span", { class: "note" }, `, depth ${rung.depth}, proof below`) : "");

function proofOf(rungs) {
  const found = rungs.find((rung) => rung.proof.length);
  if (!found) return el("p", { class: "note" }, rungs.length ? "No rung decides this query." : "The ladder's rules are for worlds of groups.");
  return el("div", {}, el("h3", {}, `Proof on the lowest rung, ${found.name}`),
    el("ol", { class: "proof" }, ...found.proof.map((step) => lights(el("li", { tabindex: 0 }, step.sentence), step.facts))));
}

// The facts that the proof rests on; without one, those of the first mechanism or of the oracle.
export function provingFacts(answer) {
  const rung = answer.rungs.find((found) => found.proof.length);
  if (rung) return rung.proof.at(-1).facts;
  const mechanism = answer.mechanisms.find((found) => Object.keys(found.answers).length);
  return mechanism ? Object.values(mechanism.answers)[0] : answer.oracle.facts;
}

// Panel "sequence": the facts in order; sample, type, add, remove, reorder, change the query.
import { el, fill, percent } from "explorer/draw.js";
import { changeText, state } from "explorer/state.js";
import { isStatic } from "explorer/api.js";

let chosen = -1; // the fact that the buttons act on

export const factsOf = (text) => text.replace(/^,/, "").split(",");
const join = (facts) => "," + facts.join(",");

export function drawSequence(answer, start, sample) {
  const facts = answer.facts;
  if (chosen >= facts.length - 1) chosen = -1;
  fill("sequence", sampler(start, sample), typed(),
    el("div", { class: "facts", role: "group", "aria-label": "facts in order" }, ...facts.map((fact, i) => factButton(fact, i, answer))),
    editor(facts), legend(answer), guesses(answer));
}

function factButton(fact, i, answer) {
  const isQuery = i === answer.facts.length - 1;
  const right = !isQuery && fact.predicted === fact.text[3];
  const names = ["fact", isQuery ? "query" : right ? "" : "wrong", fact.true === false ? "false" : ""];
  const about = isQuery ? `The query. The model says ${fact.predicted} (${percent(fact.sure)}).`
    : `Fact ${i + 1}. Before its answer the model expected ${fact.predicted} (${percent(fact.sure)})` +
      (fact.true === false ? ". This fact is false." : ".");
  return el("button", {
    type: "button", class: names.filter(Boolean).join(" "), "data-fact": i, "data-tip": about, "aria-pressed": String(i === chosen),
    style: { "--ink-of": `var(--c${Math.min(fact.component, 6)})` },
    onclick: () => { if (!isQuery) { chosen = chosen === i ? -1 : i; mark(); } },
  }, isQuery ? `${fact.text}?` : fact.text);
}

function mark() {
  document.querySelectorAll("#sequence .fact").forEach((node) => node.setAttribute("aria-pressed", String(Number(node.dataset.fact) === chosen)));
  document.querySelectorAll(".needs-fact").forEach((node) => { node.disabled = isStatic || chosen < 0; });
}

function typed() {
  const area = el("textarea", { id: "text", "aria-label": "the sequence as text", spellcheck: "false", disabled: isStatic });
  area.value = state.text + "?";
  area.addEventListener("change", () => changeText(area.value.trim().replace(/\?$/, ""), { drawn: keptTruth(area.value) }));
  return el("details", { open: area.value.length < 120 }, el("summary", { "data-word": "sequence" }, "as text: type or paste"), area);
}

// What was drawn stays known while facts are edited; a pasted sequence has nothing to do with it.
const keptTruth = (text) => (state.drawn && Math.abs(text.length - state.text.length) <= 6 ? state.drawn : null);

function editor(facts) {
  const texts = facts.map((fact) => fact.text);
  const edit = (make) => () => { const list = [...texts]; make(list); changeText(join(list)); };
  const added = el("input", { size: 5, placeholder: "ab=c", "aria-label": "fact to add", disabled: isStatic });
  const query = el("input", { size: 3, value: texts.at(-1).slice(0, 2), "aria-label": "query", id: "query-pair", disabled: isStatic });
  query.addEventListener("change", () => { texts[texts.length - 1] = `${query.value}=`; changeText(join(texts)); });
  const move = (by) => (list) => {
    const to = Math.max(0, Math.min(list.length - 2, chosen + by));
    list.splice(to, 0, ...list.splice(chosen, 1));
    chosen = to;
  };
  const button = (label, act, tip) => el("button", { type: "button", class: "needs-fact", disabled: isStatic || chosen < 0, onclick: act, "data-tip": tip }, label);
  return el("div", { class: "controls" },
    el("span", { class: "note" }, isStatic ? "prepared; to edit, run: icalgebra explore" : "click a fact, then:"),
    button("remove", edit((list) => list.splice(chosen, 1)), "Remove the chosen fact (Delete)"),
    button("←", edit(move(-1)), "Move the chosen fact earlier"), button("→", edit(move(1)), "Move the chosen fact later"),
    el("span", {}, added, " ", el("button", { type: "button", id: "add-fact", disabled: isStatic, onclick: edit((list) => list.splice(chosen < 0 ? list.length - 1 : chosen + 1, 0, added.value.trim())) }, "add")),
    el("label", {}, "query ", query));
}

export function deleteChosen() {
  if (isStatic || chosen < 0) return;
  const list = factsOf(state.text);
  list.splice(chosen, 1);
  changeText(join(list));
}

function sampler(start, sample) {
  const drawn = state.drawn ?? { distribution: "holdout", n_facts: 50, seed: 0, structures: "" };
  const distribution = el("select", { id: "distribution", disabled: isStatic, "data-word": "distribution" },
    ...Object.entries(start.distributions).map(([name, what]) => el("option", { value: name, title: what, selected: name === drawn.distribution }, name)));
  const number = (id, value, least) => el("input", { type: "number", id, value, min: least, disabled: isStatic });
  const facts = number("n-facts", drawn.n_facts, 1), seed = number("seed", drawn.seed, 0);
  const structures = el("input", { id: "structures", value: drawn.structures, placeholder: "any of the world", size: 16, disabled: isStatic, "data-word": "structures" });
  const go = (step) => () => {
    seed.value = Number(seed.value) + step;
    sample({ distribution: distribution.value, n_facts: Number(facts.value), seed: Number(seed.value), structures: structures.value });
  };
  return el("div", { class: "controls" }, el("label", {}, "distribution ", distribution), el("label", {}, "facts ", facts),
    el("label", {}, "seed ", seed), el("label", {}, "structures ", structures),
    el("button", { type: "button", id: "sample", disabled: isStatic, onclick: go(0) }, "sample"),
    el("button", { type: "button", id: "next", disabled: isStatic, onclick: go(1) }, "next seed (n)"));
}

function legend(answer) {
  const items = answer.tables.map((table, i) => el("span", {}, el("i", { style: { "--ink-of": `var(--c${Math.min(i, 6)})` } }),
    table.structure ? `${table.structure}: ${table.letters}` : `linked: ${table.letters}`));
  return el("div", { class: "legend" }, ...items, el("span", {}, "dotted underline: the model expected another answer there"));
}

// Every token with what the model expected to come next.
function guesses(answer) {
  const tokens = [...answer.text].map((token, i) => el("span", { class: "token", "data-tip": `after ${token}: ${answer.next_tokens[i]} (${percent(answer.next_sure[i])})` }, token));
  return el("details", {}, el("summary", {}, "token by token: hover for what the model expected next"), el("div", { class: "tokens" }, ...tokens));
}

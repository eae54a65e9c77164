// Panel "sequence": the facts in order, always in sight. Panel "change": sample, type, add, remove, reorder.
import { isStatic } from "explorer/api.js";
import { el, fill, percent } from "explorer/draw.js";
import { changeText, state } from "explorer/state.js";

let chosen = -1; // the fact that the buttons act on

const factsOf = (text) => text.replace(/^,/, "").split(",");
const join = (facts) => "," + facts.join(",");
const colour = (component) => ({ "--ink-of": `var(--c${Math.min(component, 6)})` });

export function drawSequence(answer, start, sample) {
  const facts = answer.facts;
  if (chosen >= facts.length - 1) chosen = -1;
  fill("sequence", el("div", { id: "verdict" }),
    el("div", { class: "facts", role: "group", "aria-label": "facts in order" },
      ...facts.map((fact, i) => factButton(fact, i, answer))),
    legend(answer));
  if (isStatic) fill("change", el("p", { class: "note" }, "This page holds prepared sequences. To sample, type and edit your own: ",
    el("code", {}, "pip install 'icalgebra[explorer]'"), ", then ", el("code", {}, "icalgebra explore")), guesses(answer));
  else fill("change", sampler(start, sample), editor(facts), typed(), guesses(answer));
}

function factButton(fact, i, answer) {
  const isQuery = i === answer.facts.length - 1;
  const surprised = !isQuery && fact.predicted !== fact.text[3];
  const names = ["fact", isQuery ? "query" : "", surprised ? "surprised" : "", fact.true === false ? "false" : ""];
  const about = isQuery ? `The query. The model says ${fact.predicted} (${percent(fact.sure)}).`
    : `Fact ${i + 1}. Before its answer the model expected ${fact.predicted} (${percent(fact.sure)}).` +
      (fact.true === false ? " This fact is false." : "");
  const choose = () => { if (!isQuery) { chosen = chosen === i ? -1 : i; mark(); } };
  return el("button", {
    type: "button", class: names.filter(Boolean).join(" "), "data-fact": i, "data-tip": about,
    "aria-pressed": String(i === chosen), style: colour(fact.component), onclick: choose,
  }, isQuery ? `${fact.text}?` : fact.text);
}

function mark() {
  for (const node of document.querySelectorAll("#sequence .fact")) node.setAttribute("aria-pressed", String(Number(node.dataset.fact) === chosen));
  for (const node of document.querySelectorAll(".needs-fact")) node.disabled = chosen < 0;
}

function typed() {
  const area = el("textarea", { id: "text", "aria-label": "the sequence as text", spellcheck: "false" });
  area.value = state.text + "?";
  const read = () => changeText(area.value.trim().replace(/\?$/, ""), { drawn: keptTruth(area.value) });
  area.addEventListener("change", read);
  return el("details", {}, el("summary", { "data-word": "sequence" }, "as text: type or paste"), area);
}

// What was drawn stays known while facts are edited; a pasted sequence has nothing to do with it.
const keptTruth = (text) => (state.drawn && Math.abs(text.length - state.text.length) <= 6 ? state.drawn : null);

function editor(facts) {
  const texts = facts.map((fact) => fact.text);
  const edit = (make) => () => { const list = [...texts]; make(list); changeText(join(list)); };
  const added = el("input", { size: 5, placeholder: "ab=c", "aria-label": "fact to add", id: "new-fact" });
  const query = el("input", { size: 3, value: texts.at(-1).slice(0, 2), "aria-label": "query", id: "query-pair" });
  query.addEventListener("change", edit((list) => list.splice(-1, 1, `${query.value}=`)));
  const add = (list) => list.splice(chosen < 0 ? list.length - 1 : chosen + 1, 0, added.value.trim());
  const move = (by) => (list) => {
    const to = Math.max(0, Math.min(list.length - 2, chosen + by));
    list.splice(to, 0, ...list.splice(chosen, 1));
    chosen = to;
  };
  const button = (label, act, tip) => el("button", { type: "button", class: "needs-fact", disabled: chosen < 0, onclick: edit(act), "data-tip": tip }, label);
  return el("div", { class: "controls" },
    el("span", { class: "note" }, "click a fact above, then"),
    button("remove", (list) => list.splice(chosen, 1), "Remove the chosen fact (Delete)"),
    button("←", move(-1), "Move the chosen fact earlier"), button("→", move(1), "Move the chosen fact later"),
    el("span", {}, added, " ", el("button", { type: "button", id: "add-fact", onclick: edit(add) }, "add")),
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
  const distribution = el("select", { id: "distribution", "data-word": "distribution" }, ...Object.entries(start.distributions)
    .map(([name, what]) => el("option", { value: name, title: what, selected: name === drawn.distribution }, name)));
  const number = (id, value, least) => el("input", { type: "number", id, value, min: least });
  const facts = number("n-facts", drawn.n_facts, 1), seed = number("seed", drawn.seed, 0);
  const structures = el("input", { id: "structures", value: drawn.structures, placeholder: "any of the world", size: 16, "data-word": "structures" });
  const go = (step) => () => {
    seed.value = Number(seed.value) + step;
    sample({ distribution: distribution.value, n_facts: Number(facts.value), seed: Number(seed.value), structures: structures.value });
  };
  return el("div", { class: "controls" }, el("label", {}, "distribution ", distribution), el("label", {}, "facts ", facts),
    el("label", {}, "seed ", seed), el("label", {}, "structures ", structures),
    el("button", { type: "button", id: "sample", onclick: go(0) }, "sample"),
    el("button", { type: "button", id: "next", onclick: go(1) }, "next seed (n)"));
}

function legend(answer) {
  const items = answer.tables.map((table, i) => el("span", {}, el("i", { style: colour(i) }), `${table.structure || "linked"}: ${table.letters}`));
  return el("div", { class: "legend" }, ...items, el("span", {}, "dotted: there the model expected another answer"));
}

// Every token with what the model expected to come next.
function guesses(answer) {
  const tip = (token, i) => `after ${token}: ${answer.next_tokens[i]} (${percent(answer.next_sure[i])})`;
  const tokens = [...answer.text].map((token, i) => el("span", { class: "token", "data-tip": tip(token, i) }, token));
  return el("details", {}, el("summary", {}, "token by token: hover for what the model expected next"), el("div", { class: "tokens" }, ...tokens));
}

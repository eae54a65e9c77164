// What the words mean, in the paper's terms. Hover or focus an element with data-word.

const WORDS = {
  sequence: "A list of facts about hidden groups. A fact ,ab=c says that the product of a and b is c; the last one lacks its answer.",
  variable: "A letter that stands for an element of a group, but only within one sequence: its meaning is in the context.",
  distribution: "How a sequence is drawn: which facts its context may hold, and how its query is chosen.",
  structures: "Names such as C6, D4, Q8 or Quasigroup(8,0), separated by commas. Empty: the world that the model was trained in.",
  copy: "Verbatim copying: the query occurs in the context.",
  commute: "Commutative copying: the reverse of the query occurs, and its answer is taken.",
  identity: "Identity element recognition: one operand is shown to be the identity, so the other one is the answer.",
  cancel: "Closure-based cancellation: of all variables of the query's structure, all but one are ruled out by its row and column.",
  associate: "Associative composition: three facts give the answer, since (xy)z = x(yz).",
  chain: "The mechanisms in sound forms, applied to their own results.",
  latin: "Also: every row and column of a group's table holds each element once.",
  associative: "Also: (ab)c = a(bc), with any one part unknown.",
  split: "Also: assume an answer and derive a contradiction.",
  oracle: "The exact Bayes posterior: the probability of each answer given how sequences are sampled.",
  entailed: "Only one answer is possible.",
  guess: "Several answers are possible; nobody can know.",
  impossible: "The model's world cannot produce this context.",
  closure: "Closure set: all variables in facts that contain an operand of the query.",
  cancellation: "Cancellation set: answers of facts in the query's row or column. None of them can be the answer.",
  candidates: "Candidates: the closure set without the cancellation set.",
  direct: "Direct logit: what this part adds to the answer's logit through the unembedding, relative to the mean variable.",
  attention: "How much the query's '=' attends to the facts that prove the answer, summed over their tokens.",
  ablation: "The answer's probability once this part's output at '=' is replaced by its mean over other sequences.",
  lens: "Logit lens: the answers that the residual stream at '=' would give after each layer.",
  reliance: "How far the answer's logit falls if no later token may attend to a fact.",
  patch: "Activation patching: the corrupt run with one value taken from the clean run.",
  checkpoint: "The same sequence, asked of the model as it was after so many training steps.",
};

export function explainWords() {
  const tip = document.getElementById("tip");
  const show = (event) => {
    const node = event.target.closest?.("[data-word], [data-tip]");
    if (!node) { tip.hidden = true; return; }
    tip.textContent = node.dataset.tip ?? WORDS[node.dataset.word] ?? "";
    tip.hidden = !tip.textContent;
    const box = node.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.bottom + 6 + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
  };
  for (const name of ["mouseover", "focusin"]) document.addEventListener(name, show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);
}

export const word = (name) => WORDS[name];

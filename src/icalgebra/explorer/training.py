"""One sequence asked of the checkpoints of a run, beside the accuracies that the run measured while it trained."""

from __future__ import annotations

from icalgebra.explorer.contract import Skill, Training
from icalgebra.explorer.models import Library, Run, checkpoint_model
from icalgebra.explorer.sequence import oracle_answer, shares
from icalgebra.model.predict import as_predictor
from icalgebra.solvers.reference import closure_set

# In the published order of the phases; the names are those of train/evaluation.py.
SKILLS = {
    "structural": "form of facts",
    "closure_top_k": "closure",
    "copy": "copy",
    "commute": "commute",
    "identity": "identity",
    "cancel": "cancel",
    "associate": "associate",
}
LEARNED = 0.9  # accuracy from which on a skill counts as learned


def training(library: Library, name: str, text: str) -> Training:
    run, known = library.run(name), library.known(name)
    prompts = known.prompt(text)
    text = known.world.vocabulary.decode(prompts)[0]
    facts = text[1:].split(",")
    answers = []
    for folder in run.checkpoints.values():
        with library.use():
            answers.append(shares(as_predictor(checkpoint_model(folder))(prompts)[0]))
    oracle = oracle_answer(prompts, known.world, "auto", facts)
    closure = closure_set([fact.replace("=", "") for fact in facts[:-1]], facts[-1][:2])
    steps = list(run.checkpoints)
    return Training(
        name, text, known.world.vocabulary.variables, steps, answers, oracle.posterior, oracle.kind,
        "".join(sorted(closure)), skills(run), [learned(run, step) for step in steps],
    )  # fmt: skip


def skills(run: Run) -> list[Skill]:
    found = []
    for name, label in SKILLS.items():
        points = [(record["step"], record[name]) for record in run.evaluations if name in record]
        if points:
            found.append(Skill(name, label, [step for step, _ in points], [round(value, 4) for _, value in points]))
    return found


def learned(run: Run, step: int) -> list[str]:
    """The skills that the latest evaluation up to a step found."""
    latest = [record for record in run.evaluations if record["step"] <= step][-1:]
    return [label for record in latest for name, label in SKILLS.items() if record.get(name, 0.0) >= LEARNED]

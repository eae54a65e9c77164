"""One sequence asked of the checkpoints of a run."""

from __future__ import annotations

from icalgebra.explorer.contract import Training
from icalgebra.explorer.models import Library, checkpoint_model
from icalgebra.explorer.sequence import oracle_answer, shares
from icalgebra.model.predict import as_predictor


def training(library: Library, run: str, text: str) -> Training:
    folders, known = library.run(run), library.known(run)
    prompts = known.prompt(text)
    text = known.world.vocabulary.decode(prompts)[0]
    answers = []
    for folder in folders.values():
        with library.use():
            answers.append(shares(as_predictor(checkpoint_model(folder))(prompts)[0]))
    oracle = oracle_answer(prompts, known.world, "auto", text[1:].split(","))
    return Training(run, text, known.world.vocabulary.variables, list(folders), answers, oracle.posterior, oracle.kind)

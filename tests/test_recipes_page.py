"""docs/recipes.md: every recipe runs as it is printed, in at most five lines, and does what its heading says."""

import re
from importlib.util import find_spec

import pytest

from helpers import ROOT

PAGE = (ROOT / "docs" / "recipes.md").read_text()
RECIPES = dict(re.findall(r"^## (.*?)\n+```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
# What each recipe must have made or printed.
HELD = {
    "Sequences about D4 alone, with their assignment": lambda made, out: out.count("('D4',)") == 3,
    "Where a head looks, as a picture": lambda made, out: "head 2.1" in made["figure"],
    # 2.1 is the head that copies; with it the accuracy is 1
    "Take a head out, and measure": lambda made, out: float(out.split()[0]) < 0.5,
    "What the model would answer after each layer": lambda made, out: made["lens"].shape == (16, 5, 18),
    "Train on your own table": lambda made, out: made["model"].run_config["structures"] == ["mine[0 1 2|1 2 0|2 0 1]"],
    "Your own predictor": lambda made, out: 0 < float(out.split()[0]) < 0.3,
    "Any activation, with torch's own hooks": lambda made, out: made["seen"][0].shape == (1, 29, 8, 32),
    "All activations, as in TransformerLens": lambda made, out: made["cache"]["pattern", 3].shape == (1, 8, 29, 29),
    "Patch a head from one run into another": lambda made, out: made["logits"].shape == (8, 18),
    "nnsight": lambda made, out: made["pattern"].shape == (1, 8, 29, 29),
    "TransformerLens": lambda made, out: made["cache"]["blocks.2.attn.hook_pattern"].shape == (1, 8, 29, 29),
    "Hugging Face": lambda made, out: made["back"].config.d_model == made["theirs"].config.hidden_size == 256,
    "Why this answer?": lambda made, out: made["why"].answer == "a" and made["why"].strongest[0].without < 0.5,
}
EXTRAS = {"nnsight": "nnsight", "TransformerLens": "transformer_lens", "Hugging Face": "transformers"}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_as_printed(name, tmp_path, monkeypatch, capsys):
    if name in EXTRAS and find_spec(EXTRAS[name]) is None:
        pytest.skip(f"{EXTRAS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    code = RECIPES[name]
    assert len([line for line in code.splitlines() if line]) <= 5
    made: dict = {}
    (tmp_path / "recipe.py").write_text(code)  # a file: nnsight reads the source of its blocks
    exec(compile(code, str(tmp_path / "recipe.py"), "exec"), made)
    assert HELD.get(name, lambda made, out: True)(made, capsys.readouterr().out)


def test_every_check_belongs_to_a_recipe_and_all_blocks_are_found():
    assert set(HELD) <= set(RECIPES)
    assert len(RECIPES) == PAGE.count("```python") >= 10

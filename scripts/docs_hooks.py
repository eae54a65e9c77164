"""Pages of the documentation site that are made when it is built (`make docs`): commands, tutorials, contributing."""

from __future__ import annotations

import contextlib
import html
import io
import json
import os
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from icalgebra.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ("image/svg+xml", "image/png")


def on_files(files: Files, config: Any) -> Files:
    pages = {"commands.md": commands(), "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")}
    for notebook in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        pages[f"tutorials/{notebook.stem}.md"] = tutorial(notebook)
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def commands() -> str:
    """Every command with its --help, as the terminal prints it."""
    text = "# Command line\n\nEvery command prints this with `--help`. Bad input is one line and exit code 2.\n"
    for name, (_, summary) in COMMANDS.items():
        text += f"\n## icalgebra {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n```text\n{help_of(name)}\n```\n"
    return text


def help_of(name: str) -> str:
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([name, "--help"])
    return printed.getvalue().strip()


def tutorial(path: Path) -> str:
    """A notebook as Markdown, with the outputs saved in it."""
    text = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text += source.replace(".ipynb)", ".md)") + "\n\n"
            continue
        text += f"```python\n{source}\n```\n\n" + "".join(_shown(output) for output in cell["outputs"])
    return text + f"\nThe notebook is `docs/tutorials/{path.name}`.\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"<pre class='output'>{html.escape(''.join(output['text']))}</pre>\n\n"
    data = output["data"]
    if PICTURES[0] in data:
        return f"<div>{_one_block(data[PICTURES[0]])}</div>\n\n"
    if PICTURES[1] in data:
        return f"<img alt='figure' src='data:image/png;base64,{''.join(data[PICTURES[1]]).strip()}'>\n\n"
    if "text/html" in data:
        return f"<div>{_one_block(data['text/html'])}</div>\n\n"
    return f"<pre class='output'>{html.escape(''.join(data['text/plain']))}</pre>\n\n"


def _one_block(lines: str | list[str]) -> str:
    """Without empty lines, which would end a block of HTML in Markdown."""
    return "\n".join(line for line in "".join(lines).splitlines() if line.strip())

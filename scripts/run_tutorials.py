"""Run the tutorials and save their outputs: python scripts/run_tutorials.py [NOTEBOOK …]. Needs the extra `docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "tutorials"


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=900, kernel_name="python3", coalesce_streams=True).execute(cwd=str(FOLDER))
        for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
            cell.metadata.pop("execution", None)  # clock times, which change with every run
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                if "image/svg+xml" in output.get("data", {}):
                    output.data.pop("text/plain", None)  # the same drawing once more
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    main()

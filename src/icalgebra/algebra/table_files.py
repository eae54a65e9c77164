"""A user's own Cayley table, from CSV or JSON.

CSV: n lines of n cells. Cells are the numbers 0 … n−1, or names; with names, the first line and the first column list
the elements. A table of numbers alone is read as one without such a header: if the elements' names are numbers, leave
the corner cell empty or put '*' there. JSON: the same rows as a list of lists, or {"name": …, "table": rows}.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from icalgebra.algebra.structures import MAX_ORDER, Structure
from icalgebra.atomic_files import read_json, read_text
from icalgebra.errors import InputError
from icalgebra.records import argument


def load_structure(path: str | Path) -> Structure:
    """Read one table; a malformed one raises InputError with the file and the cell."""
    path = Path(argument(str | Path, path, "path"))
    name, rows = _read(path)
    if not rows:
        raise InputError(f"{path.name}: the table is empty")
    elements, body, corner = _header_and_body(rows)
    if len(elements) > MAX_ORDER:
        raise InputError(f"{path.name}: {len(elements)} elements; a structure has at most {MAX_ORDER}")
    number = {element: i for i, element in enumerate(elements)}
    if len(number) != len(elements):
        repeated = next(element for element in elements if elements.count(element) > 1)
        raise InputError(f"{path.name}: element {repeated!r} is listed twice in the header")
    table = np.empty((len(elements), len(elements)), dtype=np.int64)
    for r, row in enumerate(body):
        if len(row) != len(elements):
            raise InputError(f"{path.name}: row {r + corner + 1} has {len(row)} cells; expected {len(elements)}")
        for c, cell in enumerate(row):
            if cell not in number:
                raise InputError(
                    f"{path.name}: row {r + corner + 1}, column {c + corner + 1}: {cell!r} is not an element "
                    f"({elements[0]} … {elements[-1]})"
                )
            table[r, c] = number[cell]
    return Structure.from_table(name, table)


def _read(path: Path) -> tuple[str, list[list[str]]]:
    if path.suffix.lower() != ".json":
        try:
            rows = [row for row in csv.reader(read_text(path).splitlines()) if any(row)]
        except csv.Error as error:
            raise InputError(f"{path.name} is not CSV: {error}") from error
        return path.stem, [[cell.strip() for cell in row] for row in rows]
    data = read_json(path)
    name, table = (data.get("name", path.stem), data.get("table")) if isinstance(data, dict) else (path.stem, data)
    if not isinstance(table, list) or not all(isinstance(row, list) for row in table):
        raise InputError(f"{path.name}: expected a list of rows, or an object whose 'table' is one")
    return str(name), [[str(cell) for cell in row] for row in table]


def _header_and_body(rows: list[list[str]]) -> tuple[list[str], list[list[str]], int]:
    """Elements, cells, and 1 where a header line and column were removed, else 0."""
    n = len(rows)
    if all(cell.lstrip("-").isdigit() for row in rows for cell in row) or len(rows[0]) != n or n == 1:
        return [str(i) for i in range(n)], rows, 0
    elements = rows[0][1:]
    if [row[0] if row else "" for row in rows[1:]] != elements:
        # Not a header after all: load_structure will report the first cell that is not a number.
        return [str(i) for i in range(n)], rows, 0
    return elements, [row[1:] for row in rows[1:]], 1

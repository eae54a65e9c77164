"""metrics.jsonl: one record per line, each with a checksum.

    {"kind": "train", "step": 20, "tokens": 38400, "loss": 2.9, "lr": 0.001, "clock": {…, "crc32": "1f0c93ab"}}

Everything between tokens and clock is a measured number. The checksum is that of the line without it (so it depends on
the clock, and is there); lines of earlier versions have none. A damaged line is reported by its number and left
out; the others are used. The last line may be incomplete, because the process was killed while writing it: that is not
damage.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypedDict

from icalgebra.atomic_files import parse_json
from icalgebra.errors import InputError, RunError, warn
from icalgebra.records import Count, read

Record = dict[str, Any]
CHECKSUM = re.compile(r', "crc32": "([0-9a-f]{8})"}}')
END = len(', "crc32": "01234567"}}')


class Clock(TypedDict):
    seconds: float
    training_seconds: float


class Line(TypedDict):
    """What every record has; the other fields are numbers, named by what was measured."""

    kind: Literal["train", "evaluation"]
    step: Count
    tokens: Count
    clock: Clock


def line_of(record: Record) -> str:
    """A record as a line of metrics.jsonl."""
    text = json.dumps(record, allow_nan=False)
    return f'{text[:-2]}, "crc32": "{_checksum(text)}"}}}}\n'


def read_line(line: str, source: object = "the record", *, checked: bool = False) -> Record:
    """The record of one line; InputError says what is wrong with it. checked: a line without checksum is damaged."""
    stated = CHECKSUM.fullmatch(line, max(0, len(line) - END))
    if stated:
        line = line[: stated.start()] + "}}"
    if not line.isascii() or (_checksum(line) != stated[1] if stated else checked):
        raise InputError(f"{source} differs from its checksum")
    record = read(Line, parse_json(line, source), source)
    numbers = {name: value for name, value in record.items() if name not in Line.__annotations__}
    read(dict[str, float], numbers, source)
    return dict(record)


def read_metrics(path: Path) -> list[Record]:
    """The sound records of a metrics.jsonl; a warning names the lines that are damaged."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    lines = [line.decode("ascii", errors="replace") for line in content.split(b"\n")[:-1]]
    checked = any(CHECKSUM.search(line) for line in lines)
    found: list[Record] = []
    damaged = []
    for number, line in enumerate(lines, start=1):
        try:
            record = read_line(line, f"{path}: line {number}", checked=checked)
        except InputError:
            damaged.append(number)
            continue
        if found and (record["step"] < found[-1]["step"] or record in found[-2:]):
            damaged.append(number)  # a line that was copied or moved
        else:
            found.append(record)
    if damaged:
        warn(f"{path}: {_lines(damaged)}; the {len(found)} sound records are used")
    return found


def count_until(records: Iterable[Record], step: int) -> int:
    return sum(record["step"] <= step for record in records)


def check_complete(path: Path, records: list[Record], step: int, expected: int | None) -> None:
    """Warn where the file has fewer records up to a checkpoint's step than there were when it was written."""
    lost = 0 if expected is None else expected - count_until(records, step)
    if lost > 0:
        warn(f"{path}: {lost} of the {expected} records up to step {step} are lost; the others are used")


def finite(record: Record) -> Record:
    """The record, unless a measured value is not a number: JSON has no NaN, and nothing good follows from one."""
    wrong = [name for name, value in record.items() if isinstance(value, float) and value - value != 0]
    if wrong:
        raise RunError(f"{wrong[0]} is {record[wrong[0]]} at step {record['step']}; the checkpoints are intact")
    return record


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5])) + (" …" if len(numbers) > 5 else "")
    return f"line {shown} is damaged" if len(numbers) == 1 else f"lines {shown} are damaged ({len(numbers)} in all)"

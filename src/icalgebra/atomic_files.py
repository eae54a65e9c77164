"""Atomic file writes (a temporary file beside the target, flushed to disk, renamed), and reading of users' files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icalgebra.errors import InputError

SURROGATE = re.compile("[\ud800-\udfff]")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it replaces `path` when the block succeeds and is deleted when it fails.

    A symbolic link is followed. A pipe or a device is written to directly, since a rename would replace it by a file.
    """
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk: only then does a rename inside it survive a crash."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that is writable but not readable cannot be opened, so it cannot be flushed
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_text(path: Path) -> str:
    """The text of a file; InputError says why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte-order mark first
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not text'}") from error


def read_json(path: Path) -> Any:
    """The contents of a JSON file; InputError says where it is not JSON."""
    return parse_json(read_text(path), path)


def parse_json(text: str, source: object) -> Any:
    """JSON as the standard has it: json.loads would also take NaN and Infinity, which no file of ours contains."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def write_text(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        # Paths may hold bytes that are not text; in a page or a table they are shown as escapes.
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json_text(value) + "\n")


def json_text(value: Any, depth: int = 0) -> str:
    """JSON that reads and diffs well: one line per key, lists on one line."""
    if not isinstance(value, dict) or not value:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        # Undecodable bytes of a path are lone surrogates, which UTF-8 cannot encode but JSON's escapes can.
        return text if text.isascii() else SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    margin = " " * (depth + 1)
    rows = (f"{margin}{json.dumps(str(key))}: {json_text(item, depth + 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"

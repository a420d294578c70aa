"""Numbers written as text, .csv and .json, as tensors; the labels beside them as tokens."""

from __future__ import annotations

import csv
import json
from typing import Any

import torch
from torch import Tensor

from attnviz.limits import FILE_TOKENS
from attnviz.models.files_refused import FileRefused


def read_csv(text: str, file: str) -> tuple[Tensor, tuple[str, ...] | None]:
    """Read one matrix, float32 (rows, columns), and the labels of its columns if its first line has some.

    Commas, semicolons or tabs part the numbers; labels of rows, in the first column, are left out. Raises
    FileRefused for what is no number, lines of different lengths, and no numbers.

    >>> read_csv(",the,cat\\nthe,1,0\\ncat,0.5,0.5\\n", "a.csv")
    (tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]]), ('the', 'cat'))
    """
    first = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(map(str.strip, row))]
    except csv.Error as error:
        raise FileRefused("corrupt", file=file, why=error) from None
    if not rows:
        raise FileRefused("empty", file=file)
    labels = None
    if not all(_is_number(cell) for cell in rows[0][1:] or rows[0]):
        labels, rows = rows[0], rows[1:]
    start = 2 if labels else 1
    if rows and all(not _is_number(row[0]) for row in rows):
        rows = [row[1:] for row in rows]
        if labels and rows and len(labels) == len(rows[0]) + 1:
            labels = labels[1:]
    if not rows or not rows[0]:
        raise FileRefused("empty", file=file)
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            why = f"{len(rows[0])}, in line {i + start} {len(row)}"
            raise FileRefused("lengths", file=file, name="the table", why=why)
        for cell in row:
            if not _is_number(cell):
                raise FileRefused("text", file=file, got=cell[:40], line=i + start)
    numbers = torch.tensor([[float(cell) for cell in row] for row in rows], dtype=torch.float32)
    return numbers, tuple(labels) if labels and len(labels) == numbers.shape[1] else None


def read_json(text: str, file: str) -> tuple[dict[str, Tensor], tuple[str, ...] | None]:
    """Read lists of numbers, or an object of such lists by name: float32, or bool; a list of strings is the tokens.

    Raises FileRefused for what is no JSON, no numbers, or of different lengths.

    >>> read_json('{"attn": [[1, 0], [0.5, 0.5]], "tokens": ["a", "b"]}', "a.json")
    ({'attn': tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])}, ('a', 'b'))
    """
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileRefused("corrupt", file=file, why=str(error)[:200] or "it is nested too deep") from None
    named = read if isinstance(read, dict) else {"array": read}
    found: dict[str, Tensor] = {}
    tokens = None
    for name, value in named.items():
        if not isinstance(value, list):
            continue  # a number or a remark beside the arrays
        if value and all(isinstance(each, str) for each in value):
            tokens = tokens or tuple(value[:FILE_TOKENS])
        else:
            found[name] = _tensor(value, file, name)
    return found, tokens


def _tensor(value: list[Any], file: str, name: str) -> Tensor:
    _check_leaves(value, file, name, 0)
    first: Any = value
    while isinstance(first, list) and first:
        first = first[0]
    try:
        return torch.tensor(value, dtype=torch.bool if isinstance(first, bool) else torch.float32)
    except (RuntimeError, OverflowError) as error:  # a number of more digits than a float has
        raise FileRefused("corrupt", file=file, why=error) from None
    except (ValueError, TypeError) as error:
        raise FileRefused("lengths", file=file, name=name, why=error) from None


def _check_leaves(value: list[Any], file: str, name: str, depth: int) -> None:
    if depth > 8:
        raise FileRefused("corrupt", file=file, why=f"{name} is nested too deep")
    for each in value:
        if isinstance(each, list):
            _check_leaves(each, file, name, depth + 1)
        elif not isinstance(each, int | float):
            raise FileRefused("objects", file=file, name=name)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # which Python reads as a number, and nobody writes as one

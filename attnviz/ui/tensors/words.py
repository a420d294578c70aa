"""What is said of files that cannot be read, and of arrays that do not go together: one sentence each."""

from __future__ import annotations

from attnviz.figures.text import markdown
from attnviz.locale import _
from attnviz.models.files_mask import Misfit
from attnviz.models.files_refused import FileRefused

MEGABYTE = 2**20
_LONG = 200  # characters of a value that is repeated


def refused(code: str, values: dict[str, object]) -> str:
    """Word why a file was not taken, in Markdown."""
    said = dict(values)
    for name in ("most", "got"):
        if code in ("size", "unpacked", "room") and isinstance(said.get(name), int):
            said[name] = f"{said[name] / MEGABYTE:,.0f} MB"  # type: ignore[operator]
    return _refusals()[code].format(**{name: markdown(str(value)[:_LONG]) for name, value in said.items()})


def misfit(error: Misfit) -> str:
    """Word why arrays cannot be read together, in Markdown."""
    values = error.values | {"name": roles().get(str(error.values.get("name")), error.values.get("name"))}
    return _misfits()[error.code].format(**{name: markdown(str(value)[:_LONG]) for name, value in values.items()})


def roles() -> dict[str, str]:
    """Return what each role of an array is called."""
    return {
        "query": _("query Q"),
        "key": _("key K"),
        "value": _("value V"),
        "mask": _("mask"),
        "weights": _("weights a"),
        "output": _("output O"),
        "tokens": _("token ids"),
    }


def _refusals() -> dict[str, str]:
    return {
        "size": _("{file} has {got}, and at most {most} are read: save fewer layers, or in float16."),
        "empty": _("{file} is empty: save the tensors again."),
        "kind": _("{file} is of no kind that is read here: save the tensors as one of {kinds}."),
        "renamed": _("{file} is not what its name says: its content is {content}. Give it its own ending."),
        "pickle": _("{file} is a Python pickle, which may hold code and is not read: save as .safetensors or .npz."),
        "code": _("{file} holds more than tensors ({why}), and nothing in it was run: save the tensors alone."),
        "corrupt": _("{file} breaks off or is mixed up ({why}): save it again."),
        "unpacked": _("{file} unpacks to more than {most}, and is not opened: save fewer or smaller arrays."),
        "many": _("{file} holds {got} arrays, and at most {most} are read: save those that you mean."),
        "objects": _("{file}: {name} holds Python objects and no numbers: save it as an array of numbers."),
        "numbers": _("{file}: {name} holds numbers of a kind that is not read ({got}): save it as float32."),
        "lengths": _("{file}: {name} has rows of different lengths ({why}): make them equally long."),
        "text": _("{file}: line {line} holds “{got}” where a number should stand: correct that line."),
        "nothing": _("{file} holds no array of {low} to {high} axes, only {got}: save the weights, or q, k and v."),
        "none": _("{file} holds neither arrays nor tokens: save the weights, or q, k and v."),
        "room": _("{file} would be more than {most} of numbers in all: remove a file below first."),
        "files": _("{file} would be one file too many, at most {most} are held: remove one below first."),
        "memory": _("{file} does not fit into the memory that is free here: save fewer or smaller arrays."),
    }


def _misfits() -> dict[str, str]:
    return {
        "incomplete": _("Say which array is the weights, or which are the queries and the keys: choose them above."),
        "axes": _("{name} has the shape {got}, and {expected} axes were expected: choose another array or other axes."),
        "features": _("Queries have {query} features and keys {key}: they must be as many. Are they the right arrays?"),
        "keys": _("There are {key} keys and {value} values: each key needs one value. Are they the right arrays?"),
        "heads": _(
            "There are {query} query heads, {key} key heads and {value} value heads: keys and values need as many, "
            "and their number must divide that of the queries."
        ),
        "leading": _(
            "{name} has {got} layers and sequences, and {expected} were expected: choose another array or other axes."
        ),
        "merged": _("{name} has {got} features, which {heads} heads cannot share evenly: set the number of heads."),
        "finite": _("{name} holds NaN or infinite numbers, {n} of them: nothing can be computed from it."),
        "shape": _("{name} has the shape {got}, and {expected} was expected: choose another array or other axes."),
        "values": _("There is an output and no values to compute it from: choose which array is V."),
        "mask": _("The mask has the shape {got}, which does not fit {expected} query and key tokens: choose another."),
    }


def check(error: FileRefused) -> tuple[str, dict[str, object]]:
    """Return a refusal as plain values, which a session keeps and each language words anew."""
    return error.code, {name: str(value) if name == "why" else value for name, value in error.values.items()}

"""An Experiment and a View as a query string, and back.

What has its default value is not written. What a link asks for and cannot have falls back to the default, and
a Notice says so: a link never breaks a page. Standard library only: a link is read before torch is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl, urlencode

from attnviz.edit_text import write_edits
from attnviz.edits import EDITS
from attnviz.experiment import DEFAULT_TEXT, Experiment, View
from attnviz.fields import PAGE, shown
from attnviz.lab import Lab
from attnviz.limits import LINK_BYTES, NOTICE_CHARS, NOTICE_NAMES, TEXTS
from attnviz.link_values import Notice, NotTakenError, plain, take
from attnviz.tokenizers import clean

__all__ = ["Notice", "from_query", "read_query", "to_query"]

# Parameter names are field names, and their defaults the fields' own; the seven edits share one parameter.
_PRIVATE = (*EDITS, "max_tokens", "page", "lab")
_EXPERIMENT = {"text": DEFAULT_TEXT} | {f.name: f.default for f in fields(Experiment)[1:] if f.name not in _PRIVATE}
_VIEW = {f.name: f.default for f in fields(View) if f.name not in _PRIVATE}
_LAB = {f.name: f.default for f in fields(Lab)}
_DEFAULTS = _EXPERIMENT | {"edits": None} | _VIEW | _LAB
_PARAMETERS = (*_DEFAULTS, "page", "without")

# Names that others read or add, of which nobody expects anything here: Streamlit, the site around a frame, and those
# who count visits, as WeChat does with from and isappinstalled.
_OTHERS = re.compile("embed|embed_options|__.*|utm(_.*)?|.*clid|from|isappinstalled", re.IGNORECASE | re.DOTALL)

_HOST = re.compile(r"^([a-z][a-z0-9+.-]*:)?//[^/]*|^[^/]+(?=/)", re.IGNORECASE)  # with a scheme, or without


def to_query(experiment: Experiment, view: View | None = None) -> str:
    """Write the query string, without "?", that restores `experiment` and `view`; its page is a URL's path.

    At most LINK_BYTES long: else the text is left out, or the edits, or both, or the texts of the labs as well,
    and `without` says so.

    >>> to_query(Experiment("我 & you", d_k=2, w_q=(((0, 1), 2.5),)), View(s=1))
    'text=%E6%88%91+%26+you&d_k=2&edits=w_q~0.1_2.5&s=1'
    """
    edits = experiment.edits
    # What cannot fit is not even written out: a character takes one byte at least, a cell two.
    hopeless = {"text"} if len(experiment.text) > LINK_BYTES else set()
    hopeless |= {"edits"} if 2 * sum(map(len, edits.values())) > LINK_BYTES else set()
    pairs = {name: getattr(experiment, name) for name in _EXPERIMENT}
    pairs["edits"] = write_edits(edits) if edits and "edits" not in hopeless else None
    view = view or View()
    pairs |= {name: getattr(view, name) for name in _VIEW} | {name: getattr(view.lab, name) for name in _LAB}
    pairs = {name: value for name, value in pairs.items() if value != _DEFAULTS[name]}
    query = ""
    for left_out in ((), ("text",), ("edits",), ("text", "edits"), ("text", "edits", "labs")):
        if hopeless <= set(left_out):
            names = {*left_out, *(TEXTS if "labs" in left_out else ())}
            kept = {name: plain(value) for name, value in pairs.items() if name not in names}
            query = urlencode(kept | ({"without": ",".join(left_out)} if left_out else {}), safe=",")
            if len(query) <= LINK_BYTES:
                break
    return query


def from_query(query: str | Mapping[str, Any]) -> tuple[Experiment, View]:
    """Read a link: a query string with or without "?", a whole URL, or a mapping of parameters. Never raises.

    >>> from_query("http://localhost:8501/explore?text=hello+you&d_k=2&s=1")[0].sequences
    (('hello', 'you'),)
    """
    experiment, view, _ = read_query(query)
    return experiment, view


def read_query(query: str | Mapping[str, Any]) -> tuple[Experiment, View, tuple[Notice, ...]]:
    """Read a link as from_query does, and say what could not be taken as it stood.

    >>> read_query("d_k=65")[2]
    (Notice(code='out_of_range', name='d_k', value='65'),)
    """
    notices: list[Notice] = []
    taken: dict[str, Any] = {}
    for name, value in _parameters(query, notices).items():
        try:
            taken |= take(name, value, notices)
        except NotTakenError as error:
            notices.append(Notice(str(error), name, value[:NOTICE_CHARS]))
    heads, groups = taken.get("n_heads", _EXPERIMENT["n_heads"]), taken.get("n_kv_heads")
    if groups and heads % groups:
        notices.append(Notice("out_of_range", "n_kv_heads", str(taken.pop("n_kv_heads"))))
    lab = Lab(**{name: taken.pop(name) for name in _LAB if name in taken})
    view = View(**{name: taken.pop(name) for name in (*_VIEW, "page") if name in taken}, lab=lab)
    experiment = Experiment(**({"text": DEFAULT_TEXT} | taken))
    return experiment, view, (*notices, *_without_cell(experiment))


def _without_cell(experiment: Experiment) -> list[Notice]:
    """Say of each matrix how many of its edits have no cell in this text and at these sizes."""
    counts = {
        name: sum(not experiment.has_cell(name, index) for index, _value in cells)
        for name, cells in experiment.edits.items()
    }
    return [Notice("no_cell", name, str(n)) for name, n in counts.items() if n]


def _parameters(query: Any, notices: list[Notice]) -> dict[str, str]:
    """Every parameter we know, as text, whatever the query is."""
    if isinstance(query, str):
        pairs = _pairs(clean(query))
    elif isinstance(query, Mapping):
        pairs = [
            (name, value)
            for name, values in query.items()
            for value in (values if isinstance(values, list | tuple) else [values])
        ]
    else:
        notices.append(Notice("malformed", "query", shown(query)[:NOTICE_CHARS]))
        pairs = []
    found: dict[str, str] = {}
    names = dict.fromkeys(name for name, _value in pairs if isinstance(name, str))
    notices.extend(_unknown([name for name in names if name and name not in _PARAMETERS]))
    for name, value in pairs:
        if not isinstance(name, str) or name not in _PARAMETERS:
            continue
        text = plain(value)
        if text is None:
            notices.append(Notice("malformed", name, shown(value)[:NOTICE_CHARS]))
            continue
        if name in found:
            notices.append(Notice("repeated", name, text[:NOTICE_CHARS]))
        found[name] = text
    return found


def _unknown(names: list[str]) -> list[Notice]:
    """Say which names are nobody's, the first of them and one more, and which parameter each of them is like."""
    notices = []
    for name in [name for name in names if not _OTHERS.fullmatch(name)][: NOTICE_NAMES + 1]:
        short = clean(name if len(name) <= NOTICE_CHARS else name[: NOTICE_CHARS - 1] + "…")
        # An edited matrix has a name in Python, and none of its own in a link.
        like = ["edits"] if name in EDITS else get_close_matches(short.lower(), _DEFAULTS, 1)
        notices.append(Notice("no_such_name", short, "".join(like)))
    return notices


def _pairs(query: str) -> list[tuple[str, Any]]:
    """The parameters of a query string or URL, and the last part of a URL's path as page."""
    path, mark, rest = query.partition("#")[0].partition("?")
    if "=" in path or "&" in path or not (mark or "/" in path):
        path, rest = "", f"{path}{mark}{rest}"  # no URL: the question mark belongs to a value
    page = _HOST.sub("", path, count=1).rstrip("/").rpartition("/")[2]
    pairs: list[tuple[str, Any]] = list(parse_qsl(rest, keep_blank_values=True))
    return [("page", page), *pairs] if PAGE.fullmatch(page) else pairs

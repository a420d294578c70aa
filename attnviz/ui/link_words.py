"""What a link held that could not be taken as it stood, in words."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.figures.panels import EDITED_BY
from attnviz.figures.text import markdown
from attnviz.figures.titles import plain_symbol
from attnviz.limits import LIMITS, NOTICE_NAMES
from attnviz.links import Notice
from attnviz.locale import _, n_


def words(notices: Sequence[Notice]) -> list[str]:
    """Word the notices of a link, in Markdown: one sentence for all unknown names, one for all edits without a cell."""
    grouped = {code: [notice for notice in notices if notice.code == code] for code in _GROUPED}
    said = [_GROUPED[code](found) for code, found in grouped.items() if found]
    return said + list(dict.fromkeys(word(notice) for notice in notices if notice.code not in _GROUPED))


def _unknown(notices: Sequence[Notice]) -> str:
    names = []
    for notice in notices[:NOTICE_NAMES]:
        name = f"“{markdown(notice.name)}”"
        like = _("{name} (did you mean {like}?)").format(name=name, like=markdown(notice.value))
        names.append(like if notice.value else name)
    return n_(
        "The link has a name that attnviz does not know, {names}: it is left out.",
        "The link has names that attnviz does not know, {names}: they are left out.",
        len(notices),
    ).format(names=", ".join(names) + (", …" if len(notices) > NOTICE_NAMES else ""))


def _without_cell(notices: Sequence[Notice]) -> str:
    panels = {field: panel for panel, field in reversed(EDITED_BY.items())}
    counts = [
        _("{n} of {matrix}").format(n=notice.value, matrix=markdown(plain_symbol(panels[notice.name])))
        for notice in notices
    ]
    return n_(
        "The link edits a number that has no cell here ({counts}): it is kept until text and sizes have room.",
        "The link edits numbers that have no cell here ({counts}): they are kept until text and sizes have room.",
        sum(int(notice.value) for notice in notices),
    ).format(counts=", ".join(counts))


_GROUPED = {"no_such_name": _unknown, "no_cell": _without_cell}


def word(notice: Notice) -> str:
    """Word one notice, in Markdown."""
    if notice.code in _GROUPED:
        return _GROUPED[notice.code]([notice])
    name, value = markdown(notice.name), markdown(notice.value)
    limit = LIMITS.get(notice.name)
    if notice.name == "n_kv_heads" and notice.code != "repeated":
        return _("The link asks for {value} key-value heads; their number must divide that of the heads.").format(
            value=value
        )
    if notice.code == "out_of_range" and limit:
        return _("The link asks for {name} = {value}; it goes from {low} to {high}, so the default is shown.").format(
            name=name, value=value, low=f"{limit.low:g}", high=f"{limit.high:g}"
        )
    if notice.code == "without":
        return {
            "text": _("The text was too long for the link you opened: paste it into the box."),
            "edits": _("The edited numbers were too many for the link you opened: they are not in it."),
            "labs": _("What was typed into the labs was too long for the link you opened: it is not in it."),
        }[notice.name]
    if notice.code == "too_long" and notice.name == "text":
        return _("The link's text is longer than attnviz takes: only its beginning is shown.")
    if notice.code == "replaced":
        return _("The link holds characters that no text can carry: “�” stands in their place.")
    if notice.code == "repeated":
        return _("The link gives {name} more than once: the last one counts.").format(name=name)
    if notice.name == "edits":
        return _("The link holds edited numbers that cannot be read ({value}): they are left out.").format(value=value)
    return _("The link gives {name} a value that attnviz does not know ({value}): the default is shown.").format(
        name=name, value=value
    )

"""Which array is which, what its axes are, and what its tokens are called."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from attnviz.experiment import Lab
from attnviz.figures.text import markdown
from attnviz.limits import TEXTS
from attnviz.locale import _
from attnviz.models.files_axes import Brought, bring, readings
from attnviz.models.files_mask import Misfit
from attnviz.ui import linked, state, widgets
from attnviz.ui.models import chosen
from attnviz.ui.tensors import assumed, meant, words
from attnviz.ui.tensors import held as tensors
from attnviz.ui.tensors.given import Given
from attnviz.ui.tensors.held import Held

_ASSUMED, _OPENED = "_tensor_assumed", "_tensor_opened"


def show(held: Held) -> Given | str:
    """Draw the choices, and return what is looked at, or why it cannot be."""
    taken = _roles(held)
    arrays = {role: held.arrays[name].tensor for role, name in taken.items() if name is not None}
    _unused(held, taken)
    lab = state.view().lab
    with st.container(horizontal=True, vertical_alignment="bottom"):
        main = taken["query"] or taken["weights"]
        ways = readings(arrays, layered=main is not None and held.arrays[main].layered)
        axes = _axes(ways, arrays) if ways else "auto"
        _labels()
        meant.show(arrays, axes)
    try:
        brought = bring(arrays, axes, lab.merged_heads)
    except Misfit as error:
        return words.misfit(error)
    lab = _opened(held, brought)
    sample = min(lab.sample, brought.main.shape[1] - 1)
    queries, keys = _tokens(held, arrays, brought, sample)
    name = (held.version, tuple(taken.items()), axes, sample, lab.labels, _settings(lab))
    layer, head = min(lab.layer, brought.main.shape[0] - 1), min(lab.head, brought.main.shape[2] - 1)
    given = _assumed(Given(name, brought, layer, sample, head, queries, keys, lab))
    st.caption(_sizes(given))
    if given.brought.main.shape[1] > 1:
        chosen.box(_("Sequence b"), "sample", sample, given.brought.main.shape[1])
    return given


def _opened(held: Held, brought: Brought) -> Lab:
    """Look at the first head with a weight that is no number, where the files are new and no link has another."""
    lab = state.view().lab
    asked = linked.is_unchanged() and any((lab.layer, lab.sample, lab.head))
    if st.session_state.get(_OPENED) != held.version:
        st.session_state[_OPENED] = held.version
        x = None if asked else brought.weights
        odd = [] if x is None else (~x.isfinite()).flatten(-2).any(dim=-1).nonzero().tolist()
        if odd:
            layer, sample, head = odd[0]
            state.keep(layer=layer, sample=sample, head=head)
    return state.view().lab


def _assumed(given: Given) -> Given:
    """Take a causal mask as meant where the numbers say so; once, for every weight is looked at."""
    asked = (given.name, given.layer, given.sample)
    if st.session_state.get(_ASSUMED, (None,))[0] != asked:
        st.session_state[_ASSUMED] = (asked, assumed.sign(given))
    sign = st.session_state[_ASSUMED][1]
    return given._replace(assumed=sign, name=(given.name, sign))


def _settings(lab: Lab) -> tuple[object, ...]:
    names = ("example", "given_mask", "given_scale", "given_softcap", "given_d_model", "rotary", "rotary_base")
    return tuple(getattr(lab, name) for name in (*names, "merged_heads"))


def _roles(held: Held) -> dict[str, str | None]:
    """Offer for each role the arrays that there are; the guess stands first."""
    corrected = tensors.corrected()
    taken: dict[str, str | None] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for role, title in words.roles().items():
            name = corrected.get(role, held.roles.get(role))
            taken[role] = name if name in held.arrays else None
            key = f"role:{role}.{state.language()}"
            st.session_state[key] = taken[role] or ""
            st.selectbox(
                title,
                ["", *held.arrays],
                format_func=lambda name: _describe(name, held) if name else _("none"),
                key=key,
                width=220,
                on_change=_correct,
                args=(role, key),
            )
    return taken


def _describe(name: str, held: Held) -> str:
    tensor = held.arrays[name].tensor
    return f"{name} {tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def _correct(role: str, key: str) -> None:
    tensors.correct(role, widgets.sent(key) or None)


def _unused(held: Held, taken: dict[str, str | None]) -> None:
    left = [name for name in held.arrays if name not in taken.values()]
    if left:
        names = ", ".join(markdown(_describe(name, held)) for name in left[:12])
        st.caption(_("Not used: {names}").format(names=names + (" …" if len(left) > 12 else "")))


def _axes(ways: tuple[str, ...], arrays: dict[str, Tensor]) -> str:
    """Offer the ways to read the axes, in words and letters."""
    asked = state.view().lab.axes
    axes = asked if asked in ways else ways[0]
    if len(ways) > 1:
        key = f"way.{state.language()}"
        st.session_state[key] = axes
        said = _ways("query" in arrays)
        st.selectbox(
            _("What the axes are"),
            ways,
            format_func=said.__getitem__,
            key=key,
            width=380,
            on_change=_take_axes,
            args=(key,),
        )
    return axes


def _take_axes(key: str) -> None:
    state.set_lab(axes=widgets.sent(key), layer=0, head=0, sample=0)


def _ways(vectors: bool) -> dict[str, str]:
    last = "s, k" if vectors else "s, u"
    return {
        "plain": _("({last}): one head").format(last=last),
        "h": _("(h, {last}): heads").format(last=last),
        "b": _("(b, {last}): sequences of a batch").format(last=last),
        "l": _("(l, {last}): layers of one head").format(last=last),
        "bh": _("(b, h, {last}): sequences, heads").format(last=last),
        "lh": _("(l, h, {last}): layers, heads").format(last=last),
        "lbh": _("(l, b, h, {last}): layers, sequences, heads").format(last=last),
        "behind": _("(b, s, h, k): the heads behind the tokens"),
        "merged": _("(b, s, h·k): the heads side by side in the last axis"),
    }


def _labels() -> None:
    bound = state.of_lab("labels")
    st.text_input(
        _("Tokens, between blanks"),
        placeholder=_("those of the file, else numbers"),
        max_chars=TEXTS["labels"],
        autocomplete="off",
        width=300,
        **bound,
    )


def _tokens(
    held: Held, arrays: dict[str, Tensor], brought: Brought, sample: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What query and key tokens are called: as typed, as the file names them, else by their numbers."""
    n_query, n_key = brought.main.shape[-2], brought.n_key
    fitting = (tokens for tokens in held.tokens if len(tokens) in (n_query, n_key))
    found: tuple[str, ...] | None = tuple(state.view().lab.labels.split()) or None
    if found is None and held.tokens:
        found = next(fitting, held.tokens[0])
    ids = arrays.get("tokens")
    if not state.view().lab.labels.strip() and ids is not None:
        found = tuple(f"{number:g}" for number in ids.reshape(-1, ids.shape[-1])[sample % len(ids)].float().tolist())
    if found is not None and len(found) not in (n_query, n_key):
        st.warning(
            _("There are {n} tokens for {s} queries and {u} keys: numbers stand in their place.").format(
                n=len(found), s=n_query, u=n_key
            )
        )
        found = None
    numbered = tuple(str(i + 1) for i in range(max(n_query, n_key)))
    queries = found if found is not None and len(found) == n_query else numbered[:n_query]
    keys = found if found is not None and len(found) == n_key else numbered[:n_key]
    if found is not None and n_query < n_key == len(found):  # the queries of a decoder are the last tokens
        queries = found[-n_query:]
    return queries, keys


def _sizes(given: Given) -> str:
    brought = given.brought
    n_layers, n_samples, n_heads = brought.main.shape[:3]
    said = _("Read as: layers {l}, sequences {b}, heads {h}, query tokens {s}, key tokens {u}").format(
        l=n_layers, b=n_samples, h=n_heads, s=len(given.queries), u=len(given.keys)
    )
    if brought.key is not None:
        said += f", d_k = {brought.key.shape[-1]}"
        if brought.key.shape[2] != n_heads:
            said += ", " + _("key-value heads {n}").format(n=brought.key.shape[2])
    return said + "."

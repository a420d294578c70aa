"""The parts of the page about decoding: the step, what it computes and reads, and why the mask must be causal."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import streamlit as st
from torch import Tensor

from attnviz.core.positions import alibi_slopes
from attnviz.figures.maps import Axis, Map
from attnviz.figures.text import html, markdown, number
from attnviz.labs.decoding import Decoded, Layer, at_once, change, decode, one_head
from attnviz.labs.sizes import BYTES, Sizes
from attnviz.letters import relabel
from attnviz.limits import TOKENS_SHOWN
from attnviz.locale import _
from attnviz.ui import headings, labs, state
from attnviz.ui.board import Charts
from attnviz.ui.compute import Computed
from attnviz.ui.labs.heads_layer import typed
from attnviz.ui.questions import Question, ask


class Now(NamedTuple):
    """The step that is shown."""

    t: int  # tokens so far
    n: int  # of the whole sequence, without padding
    token: str  # the new one, in Markdown
    x: Tensor  # (s, m) of the tokens so far
    layer: Layer  # of the head that is shown
    sizes: Sizes
    prompt: int  # tokens whose keys and values are filled in at once


def now(computed: Computed) -> Now:
    """Return the step that the view asks for, or the last one where the text is shorter."""
    e, run, view = computed.experiment, computed.run, computed.view
    n = run.lengths[view.b]
    t = min(view.lab.decoded, n)
    n_kv_heads = e.n_kv_heads or e.n_heads
    slopes = alibi_slopes(e.n_heads) if e.positions == "alibi" else None  # (h,)
    weights = (run.w_q, run.w_k, run.w_v)
    all_heads = Layer(*weights, e.n_heads, n_kv_heads, run.scale, typed(e, view.b), run.rotary, slopes)
    token = markdown(run.tokens[view.b][t - 1])
    sizes = labs.ran("sizes", Sizes, e.d_model, e.d_k, e.d_v, n_heads=e.n_heads, n_kv_heads=n_kv_heads)
    layer = labs.ran("layer", one_head, all_heads, view.h)
    return Now(t, n, token, run.x[view.b, :t], layer, sizes, max(0, t - TOKENS_SHOWN))


def say_causal(computed: Computed) -> None:
    """Say that the mask of the page's controls does nothing here; it stands right below them."""
    if computed.experiment.mask != "causal":
        st.caption(_("What is written cannot see what comes later: this page is causal, whatever the mask above."))


def question(now: Now) -> None:
    """Ask why there is no cache of queries."""
    place = ask(
        Question(
            22,
            _("**Why is there a KV cache, and no Q cache?** A model writes one token after another."),
            {
                "fixed": _("queries change as the text grows; keys and values stay as they are"),
                "again": _("later tokens read every old key and value again; nothing reads an old query"),
                "small": _("queries are so quick to compute that keeping them saves nothing"),
            },
            right="again",
        )
    )
    if place is not None:
        place.markdown(
            _(
                "Row {s} of the scores is query {s} against the keys so far. It is made once, and then query {s} is "
                "done; a key and its value are needed by every row that follows. Old rows that are read, of K and of "
                "V: {old} in the last step, {read} in all {n} steps; of Q: 0. No row of the three changes as the text "
                "grows: a cache of Q would be right, and its {bytes} bytes useless."
            ).format(
                s=relabel("s", state.view().letters),
                n=now.n,
                old=now.n - 1,
                read=now.n * (now.n - 1) // 2,
                bytes=f"{now.n * now.sizes.n_heads * now.sizes.d_k * BYTES:,}",
            )
        )


def choose(now: Now) -> None:
    """Let the reader choose the step."""
    st.session_state["decoded"] = now.t
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for key, words, t in (("back", _("Step back"), now.t - 1), ("next", _("Next token"), now.t + 1)):
            inside = 1 <= t <= now.n
            st.button(words, key=f"step:{key}", disabled=not inside, on_click=state.set_lab, kwargs={"decoded": t})
        if now.n > 1:
            st.slider(_("Tokens so far"), 1, now.n, width=320, **state.of_lab("decoded"))


def maps(computed: Computed, now: Now) -> Charts:
    """Draw what the step computes anew, and what it reads; say whether one run over all tokens gives the same."""
    t, view = now.t, computed.view
    decoded = labs.ran("decoded", decode, now.layer, now.x, now.prompt)
    whole = labs.ran("whole", at_once, now.layer, now.x)
    _say(computed, now, decoded, whole.output)
    latest = max(0, t - TOKENS_SHOWN)  # the maps follow the newest tokens
    follow = computed._replace(view=replace(view, from_s=latest, from_u=latest))
    last, words = decoded.last, computed.run.tokens[view.b][:t]
    marked = (*words[:-1], "▶ " + words[-1])
    query, keys = Axis("s", marked[-1:]), Axis("u", words)
    headings.title(_("New in this step: one row of each"))
    new = labs.maps(
        follow,
        "maps-new",
        [
            Map("new_key", "<b>k</b>", last.key[0, -1:], Axis("u", marked[-1:]), Axis("k")),
            Map("new_value", "<b>v</b>", last.value[0, -1:], Axis("u", marked[-1:]), Axis("d")),
            Map("new_query", "<b>q</b>", last.query[0], query, Axis("k")),
            Map("new_scores", "<b>S</b>", last.scores[0], query, keys),
            Map("new_weights", "<b>a</b>", last.weights[0], query, keys, scale="share"),
            Map("new_output", "<b>o</b>", last.output[0], query, Axis("d")),
        ],
    )
    for panel in new["panels"]:
        panel["start"][0] = t - 1  # the one row is the newest token's
    headings.title(_("The cache with its new row, and the rows so far"))
    s, caches = Axis("s", marked), [f"<b>{html(words)}</b>{_group(computed)}" for words in (_("K cache"), _("V cache"))]
    kept = labs.maps(
        follow,
        "maps-kept",
        [
            Map("key_cache", caches[0], last.key[0], Axis("u", marked), Axis("k")),
            Map("value_cache", caches[1], last.value[0], Axis("u", marked), Axis("d")),
            Map("weights", "<b>a</b>", whole.weights[0], s, keys, scale="share", sums="rows"),
            Map("output", "<b>O</b>", whole.output[0], s, Axis("d")),
        ],
    )
    return [new, kept]


def _group(computed: Computed) -> str:
    """Say which key-value head the head reads, where heads share them."""
    n, groups = computed.experiment.n_heads, computed.experiment.n_kv_heads or computed.experiment.n_heads
    return (
        ""
        if groups == n
        else " " + _("head {n} of {groups}").format(n=computed.view.h * groups // n + 1, groups=groups)
    )


def _say(computed: Computed, now: Now, decoded: Decoded, whole: Tensor) -> None:
    said = _(
        "**Step {t} of {n}: “{token}” is new.** Its key and value go into the cache; its query reads all {t} rows of "
        "it, {old} of them old. No old query is read."
    )
    apart = float((decoded.output[0] - whole[0, now.prompt :]).abs().max())
    if apart == 0:
        said += " " + _("The outputs of all steps so far are exactly those of one run over {t} tokens.")
    else:
        said += " " + _(
            "The outputs of all steps so far differ from those of one run over {t} tokens by {apart} at most: a "
            "product of one row adds up in another order, and float32 rounds."
        )
    st.markdown(said.format(t=now.t, n=now.n, token=now.token, old=now.t - 1, apart=small(apart)))
    if now.prompt:
        st.caption(
            _(
                "The first {prompt} tokens are read at once, as a prompt is; the last {steps} are decoded and drawn."
            ).format(prompt=now.prompt, steps=now.t - now.prompt)
        )


def small(value: float) -> str:
    """Print a difference that may be tiny.

    >>> small(0.0), small(1.2e-7), small(0.25)
    ('0', '1.2e-07', '0.2500')
    """
    return f"{value:.1e}" if 0 < abs(value) < 0.001 else number(value, 4) if value else "0"


def only_causal(now: Now) -> None:
    """Show by how much the newest token changes the rows before it, with the causal mask and without."""
    headings.title(_("Why the mask must be causal"))
    if now.t == 1:
        st.markdown(_("The first token has no rows before it: take a step."))
        return
    causal = labs.ran("change_causal", change, now.layer, now.x, causal=True)
    bare = labs.ran("change_unmasked", change, now.layer, now.x, causal=False)
    rounding = " " + _("(rounding)") if 0 < causal < 1e-3 * bare else ""
    st.markdown(
        _(
            "Add “{token}” to what was there. With the causal mask the output rows before it change by **{causal}** at "
            "most, with no mask by **{bare}**. The next layer makes its keys and values of these rows: without the "
            "causal mask its whole cache would be out of date after every token."
        ).format(token=now.token, causal=small(causal) + rounding, bare=small(bare))
    )

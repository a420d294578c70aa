"""Which model reads which texts: the choice, its card, the boxes."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from attnviz.figures.text import markdown
from attnviz.limits import TEXTS
from attnviz.locale import _, n_
from attnviz.models import hub, registry
from attnviz.models.hub import PREFIX
from attnviz.models.model import ModelInfo
from attnviz.models.refusals import Refused
from attnviz.ui import controls, state, widgets
from attnviz.ui.controls import LIVE
from attnviz.ui.models import waiting
from attnviz.ui.models.jobs import Wanted
from attnviz.ui.models.refused import word

FIRST = "attnviz-tiny"
_READ_TWO = ("encoder", "encoder-decoder", "")  # "": not known before it is loaded


class Chosen(NamedTuple):
    """What the reader chose, and may have."""

    card: ModelInfo
    wanted: Wanted


def show() -> Chosen:
    """Draw the choice of a model and the text, and return them; the page ends here where there is nothing to read."""
    cards = {card.code: card for card in registry.available()}
    code = registry.code_of(state.view().lab.model)
    if code != state.view().lab.model:
        state.keep(model=code)
    kind = PREFIX if code.startswith(PREFIX) else code
    if kind not in cards:
        st.warning(
            _("The link asks for a model “{model}” that attnviz does not know: {first} is shown.").format(
                model=markdown(code), first=FIRST
            )
        )
        code = kind = FIRST
    _choose(cards, kind)
    card = cards[kind]
    if kind == PREFIX:
        _name_it(code, card)
        card = _known(code, card)
    controls.text(_examples(code))
    pair = _second(card) if card.kind in _READ_TWO and kind != FIRST else None
    _describe(card)
    if kind == PREFIX and hub.closed():
        waiting.end(word(Refused("public", model=card.title)))
    if card.missing:
        said = _("{model} needs {packages}, not installed here. One line brings what it needs:")
        waiting.end(said.format(model=card.title, packages=", ".join(card.missing)), code=card.install)
    if kind == PREFIX:
        _require_button(code)
    return Chosen(card, Wanted(code, state.experiment().text, pair))


def _choose(cards: dict[str, ModelInfo], kind: str) -> None:
    titles = {code: _("Another model") if code == PREFIX else card.title for code, card in cards.items()}
    key = f"model_kind.{state.language()}"
    st.session_state[key] = kind
    st.segmented_control(
        _("Model"), list(titles), required=True, format_func=titles.__getitem__, key=key, on_change=_take, args=(key,)
    )


def _take(key: str) -> None:
    kind = widgets.sent(key)
    if kind == PREFIX:
        kind += st.session_state.get("_hub_name", "")
    state.set_lab(model=kind, layer=0, head=0, silenced="")


def _name_it(code: str, card: ModelInfo) -> None:
    """The box for a name or folder: nothing is loaded before the button is pressed."""
    if card.missing or hub.closed():
        return
    st.session_state["hub_name"] = code.removeprefix(PREFIX)
    with st.form("hub", border=False, enter_to_submit=True), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            _("Name on the Hugging Face hub, or a folder of this machine"),
            key="hub_name",
            placeholder="openai-community/gpt2",
            max_chars=TEXTS["model"] - len(PREFIX),
            autocomplete="off",
        )
        st.form_submit_button(_("Load"), type="primary", on_click=_load, key="hub_load")


def _load() -> None:
    name = (widgets.sent("hub_name") or "").strip()
    st.session_state["_hub_name"] = name
    st.session_state.setdefault("_hub_asked", set()).add(PREFIX + name)
    changed = {} if state.view().lab.model == PREFIX + name else {"layer": 0, "head": 0, "silenced": ""}
    state.set_lab(model=PREFIX + name, **changed)


def _require_button(code: str) -> None:
    """A link may name a model, but only the reader's own button has it loaded: a link makes a server fetch nothing."""
    if code == PREFIX:
        waiting.end(
            _(
                "Write the name of a model, such as openai-community/gpt2, and press Load. It is fetched by the server "
                "and kept in its cache; no program code of a model is run."
            )
        )
    if code not in st.session_state.get("_hub_asked", ()):
        said = _("Press Load to load {model}: a link alone loads nothing from elsewhere.")
        waiting.end(said.format(model=markdown(code.removeprefix(PREFIX))))


def _known(code: str, card: ModelInfo) -> ModelInfo:
    """The card of a model of the hub, whole once it has been loaded."""
    whole: ModelInfo | None = st.session_state.get("_hub_cards", {}).get(code)
    return whole or card._replace(code=code)


def learn(card: ModelInfo) -> None:
    """Keep the card of a model that was loaded; where its sizes are news, the page runs again with them."""
    cards = st.session_state.setdefault("_hub_cards", {})
    if card.code.startswith(PREFIX) and cards.get(card.code) != card:
        cards[card.code] = card
        st.rerun()


def _second(card: ModelInfo) -> str | None:
    words = _("Second text, read after the first (may stay empty)")
    if card.kind == "encoder-decoder":
        words = _("What the decoder has written (empty: it writes itself)")
    elif not card.kind:
        words = _("Second text, where the model reads two (may stay empty)")
    st.text_input(words, max_chars=TEXTS["pair"], live=LIVE, autocomplete="off", **state.of_lab("pair"))
    pair = state.view().lab.pair
    return pair if pair.strip() else None


def _describe(card: ModelInfo) -> None:
    if not card.layers:
        return
    kinds = {
        "encoder": _("encoder: every token sees all others"),
        "decoder": _("decoder: a token sees those before it"),
        "encoder-decoder": _("encoder and decoder"),
    }
    said = [kinds[card.kind], _sizes(card.layers, card.heads)]
    if card.kv_heads != card.heads:
        said.append(_("{n} key-value heads").format(n=card.kv_heads))
    said.append(f"d_model {card.d_model}" if card.d_model else "")
    said.append(_("{n} parameters").format(n=f"{card.parameters:,}"))
    said.append(_("at most {n} tokens").format(n=card.tokens))
    said.append(_("licence {name}").format(name=card.licence) if card.licence else "")
    st.caption(f"**{markdown(card.title)}** · " + " · ".join(markdown(one) for one in said if one))


def _examples(code: str) -> tuple[str, ...]:
    if code == FIRST:
        return ("thecatsatonthecat", "abcdefgabcdefg", "qxzkwqxzkw")
    return (
        "The cat sat on the mat because it was tired.",
        "The capital of Italy is",
        "When Mary and John went to the store, John gave a drink to",
        "the cat the dog the cat the",
        "我喜欢吃猫粮 🙂 naïve café",
    )


def _sizes(layers: int, heads: int) -> str:
    named = n_("{n} layer", "{n} layers", layers).format(n=layers), n_("{n} head", "{n} heads", heads).format(n=heads)
    return " × ".join(named)

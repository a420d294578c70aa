"""attnviz-tiny: the two layers of attention that ship, trained by attnviz.training to continue repeated letters."""

from __future__ import annotations

from torch import Tensor

from attnviz.core.attention import project
from attnviz.core.heads import merge_heads, split_heads
from attnviz.models.encoding import chances
from attnviz.models.knockouts import Knockout, check_knockouts, hide_edges, silence
from attnviz.models.model import Model, ModelInfo, Progress
from attnviz.models.packages import missing
from attnviz.models.projections import carried
from attnviz.models.reading import Guess, LayerRead, Part, Reading, Shortened
from attnviz.models.refusals import Refused
from attnviz.models.tokens import Token
from attnviz.training import checkpoint, tasks
from attnviz.training.model import Weights, added
from attnviz.training.recipe import Recipe

_NEEDS = ("safetensors",)


def info() -> ModelInfo:
    """The card of attnviz-tiny; its sizes are those of the recipe it was trained by."""
    recipe = checkpoint.TINY
    return ModelInfo(
        code="attnviz-tiny",
        title="attnviz-tiny",
        kind="decoder" if tasks.causal(recipe) else "encoder",
        layers=recipe.layers,
        heads=recipe.heads,
        kv_heads=recipe.heads,
        d_model=recipe.width,
        parameters=recipe.n_parameters,
        tokens=recipe.seq_len,
        download=0,
        memory=4 * recipe.n_parameters,
        licence="MIT",
        missing=missing(*_NEEDS),
        install="pip install safetensors",
    )


class AttentionOnly(Model):
    """A model of attnviz.training in memory. A token is a letter; blanks are none."""

    def __init__(self, card: ModelInfo, recipe: Recipe, weights: Weights) -> None:
        super().__init__(card)
        self._recipe, self._weights = recipe, weights

    def _read(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading:
        if text_pair is not None:
            raise Refused("pair", model=self.info.code)
        recipe, weights = self._recipe, self._weights
        tokens, shortened = self._tokens(text)
        n = len(tokens)
        check_knockouts(knockouts, {"decoder": (recipe.layers, recipe.heads, n, n)})
        ids = tasks.encode(recipe, [token.piece for token in tokens])  # (s,)
        x = weights.embedding[ids]  # (s, m)
        places, mask = added(recipe, weights, n), tasks.mask(recipe, n)  # (s, m), (s, u)
        layers = []
        for i, layer in enumerate(weights.layers):
            chosen = [one for one in knockouts if one.layer == i]
            x_qk = x if places is None else x + places  # (s, m)
            query, key, value = (
                split_heads(project(*each), recipe.heads)
                for each in ((x_qk, layer.w_q), (x_qk, layer.w_k), (x, layer.w_v))
            )  # (h, s, k), (h, u, k), (h, u, d)
            seen = hide_edges(mask, chosen, recipe.heads, n, n)
            read = LayerRead(query, key, value, seen, carried=carried(value, layer.w_o, recipe.heads))
            layers.append(read)
            x = x + project(merge_heads(silence(read.trace().output, chosen)), layer.w_o)
        return self._reading(text, tokens, layers, shortened, project(x[-1:], weights.unembedding)[0])

    def _tokens(self, text: str) -> tuple[tuple[Token, ...], tuple[Shortened, ...]]:
        """The letters of a text, small, as many as the model reads."""
        numbers = {symbol: number for number, symbol in enumerate(self._recipe.vocabulary)}
        found: list[Token] = []
        for place, character in enumerate(text):
            if character.isspace():
                continue
            if len(found) == self.info.tokens:
                return tuple(found), (Shortened(0, place, self.info.tokens),)
            symbol = character.lower()
            if symbol not in numbers:
                raise Refused("symbol", model=self.info.code, symbol=character)
            found.append(Token(numbers[symbol], symbol, character, (place, place + 1)))
        if not found:
            raise Refused("empty", text=text)
        return tuple(found), ()

    def _reading(
        self,
        text: str,
        tokens: tuple[Token, ...],
        layers: list[LayerRead],
        shortened: tuple[Shortened, ...],
        logits: Tensor,
    ) -> Reading:
        probabilities = chances(logits)  # (v,)
        order = probabilities.argsort(descending=True).tolist()
        return Reading(
            self.info.code,
            (text,),
            (Part("decoder", tuple(layers), tokens, tokens),),
            shortened,
            probabilities=probabilities,
            guesses=tuple(Guess(i, self._recipe.vocabulary[i], float(probabilities[i])) for i in order),
        )


def load(progress: Progress | None = None) -> AttentionOnly:
    """Load attnviz-tiny. Raises Refused "missing" without safetensors, "corrupt" for a file that cannot be read."""
    card = info()
    if card.missing:
        raise Refused("missing", model=card.title, packages=", ".join(card.missing), install=card.install)
    try:
        recipe, weights = checkpoint.tiny()
    except (OSError, ValueError) as error:
        raise Refused("corrupt", model=card.code, why=str(error)) from error
    if progress is not None:
        progress(1.0)
    return AttentionOnly(card, recipe, weights)

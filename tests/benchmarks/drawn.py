"""attnviz with one more model, of 12 layers of 12 heads whose numbers are drawn: the size other tools were measured at.

    python -m tests.benchmarks.drawn run app.py      as `streamlit run app.py`, with ?model=drawn

Its tokens are the words of the text, and it computes nothing but what every model must: its time is the page's own.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType

import torch
from torch import Tensor

from attnviz.limits import MODEL_TOKENS
from attnviz.models import registry
from attnviz.models.knockouts import Knockout
from attnviz.models.model import Model, ModelInfo, Progress
from attnviz.models.reading import LayerRead, Part, Reading
from attnviz.models.tokens import Token

CODE = "drawn"
LAYERS, HEADS, D_K = 12, 12, 64


def layers(text: str) -> tuple[LayerRead, ...]:
    """Return the layers of a text: the same numbers whenever they are asked for."""
    n = len(text.split())
    generator = torch.Generator().manual_seed(1000 * n + ord(text[0]))
    return tuple(LayerRead(*torch.randn(3, HEADS, n, D_K, generator=generator)) for _ in range(LAYERS))


def weights(text: str) -> Tensor:
    """Return every map of a text: (l, h, n, n)."""
    return torch.stack([read.weights() for read in layers(text)])


def info() -> ModelInfo:
    """Return the model's card."""
    sizes = {"layers": LAYERS, "heads": HEADS, "kv_heads": HEADS, "d_model": HEADS * D_K}
    rest = {"parameters": 0, "tokens": MODEL_TOKENS, "download": 0, "memory": 0, "licence": ""}
    return ModelInfo(CODE, "Drawn", "encoder", **sizes, **rest)


class Drawn(Model):
    """A model that draws its queries, keys and values."""

    def _read(self, text: str, text_pair: str | None, knockouts: tuple[Knockout, ...]) -> Reading:
        words = list(re.finditer(r"\S+", text))
        tokens = tuple(Token(hash(word[0]) % 37, word[0], word[0], word.span()) for word in words)
        return Reading(CODE, (text,), (Part("encoder", layers(text), tokens, tokens),))


def load(progress: Progress | None = None) -> Model:
    """Return the model."""
    return Drawn(info())


def main() -> None:
    """Run streamlit's command with the model among those that are offered."""
    from streamlit.web import cli

    module = ModuleType(CODE)
    module.__dict__.update(info=info, load=load)
    registry._OFFLINE[CODE] = module
    sys.exit(cli.main(prog_name="streamlit"))


if __name__ == "__main__":
    main()

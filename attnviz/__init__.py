"""attnviz: type tokens, see self-attention happen, number by number.

The names below load when first used, so that `import attnviz` brings neither torch nor plotly nor streamlit.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.core import masks as masks
    from attnviz.core.arithmetic import explain as explain
    from attnviz.core.attention import AttentionTrace as AttentionTrace
    from attnviz.core.attention import attention as attention
    from attnviz.core.attention import project as project
    from attnviz.core.attention import self_attention as self_attention
    from attnviz.core.diagnosis import diagnose as diagnose
    from attnviz.experiment import Experiment as Experiment
    from attnviz.experiment import View as View
    from attnviz.figures.notebook import board as board
    from attnviz.figures.show import show as show
    from attnviz.links import from_query as from_query
    from attnviz.links import to_query as to_query

__version__ = "0.1.0"

_HOMES = {
    "attention": "attnviz.core.attention",
    "project": "attnviz.core.attention",
    "self_attention": "attnviz.core.attention",
    "AttentionTrace": "attnviz.core.attention",
    "explain": "attnviz.core.arithmetic",
    "diagnose": "attnviz.core.diagnosis",
    "masks": "attnviz.core",
    "Experiment": "attnviz.experiment",
    "View": "attnviz.experiment",
    "from_query": "attnviz.links",
    "to_query": "attnviz.links",
    "board": "attnviz.figures.notebook",
    "show": "attnviz.figures.show",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz' has no attribute {name!r}")
    if name == "masks":
        return import_module("attnviz.core.masks")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

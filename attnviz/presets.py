"""Experiments to begin with: a code, and what it sets. How a preset is called on screen, its page says."""

from typing import Any

from attnviz.experiment import DEFAULT_TEXT, Experiment

# A worked example that is published with its result, to four digits:
# output [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]].
# It does not scale the scores, and its X and weights are whole.
_WORKED: dict[str, Any] = {
    "text": "one two three",
    "d_model": 4,
    "d_k": 3,
    "d_v": 3,
    "scale": "none",
    "x": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    "w_q": [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
    "w_k": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    "w_v": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
}

PRESETS: dict[str, dict[str, Any]] = {
    "cat": {"text": DEFAULT_TEXT},
    "repeat": {"text": "the cat the cat"},
    "causal": {"text": DEFAULT_TEXT, "mask": "causal"},
    "chinese": {"text": "我喜欢猫，猫也喜欢我"},
    "emoji": {"text": "👩‍🚀 🚀 👋🏽 🇫🇷 ❤️‍🔥"},
    "batch": {"text": "the cat sat on the mat\nthe dog ran\nbirds sing", "n_heads": 2},
    "worked": _WORKED,
}


def preset(code: str) -> Experiment:
    """Return the experiment of the preset `code`; ValueError when there is none of that code.

    >>> preset("repeat").sequences
    (('the', 'cat', 'the', 'cat'),)
    """
    if code not in PRESETS:
        raise ValueError(f"code must be one of {', '.join(PRESETS)}, not {code!r}")
    return Experiment(**PRESETS[code])

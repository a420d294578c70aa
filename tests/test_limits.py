"""The table of limits agrees with the defaults of the fields, and the fields keep to it."""

from dataclasses import fields
from typing import Any

import pytest

from attnviz.experiment import Experiment, Lab, View
from attnviz.fields import is_whole
from attnviz.limits import LIMITS

OWNERS = {f.name: owner for owner in (Experiment, View, Lab) for f in fields(owner)}
DEFAULTS = {f.name: f.default for owner in (Experiment, View, Lab) for f in fields(owner)}


def make(name: str, value: Any) -> Any:
    """An Experiment, View or Lab whose field `name` is `value`, and that value as it is kept."""
    sizes: dict[str, Any] = {"n_heads": 8} if name == "n_kv_heads" else {}
    owner = OWNERS[name]
    given = {"text": "a"} if owner is Experiment else {}
    return getattr(owner(**given, **sizes, **{name: value}), name)


@pytest.mark.parametrize("name", LIMITS)
def test_the_default_is_the_fields_own_and_lies_between_the_limits(name: str) -> None:
    limit = LIMITS[name]
    assert limit.low <= limit.default <= limit.high
    assert limit.step > 0
    assert DEFAULTS[name] == (None if name in ("n_kv_heads", "max_tokens") else limit.default)


@pytest.mark.parametrize("name", LIMITS)
def test_a_field_takes_its_limits_and_nothing_beyond(name: str) -> None:
    limit = LIMITS[name]
    assert make(name, limit.low) == limit.low
    assert make(name, limit.high) == limit.high
    for outside in (limit.low - 1, limit.high + 1, 10**5000, float("inf"), float("nan"), "1", True):
        with pytest.raises(ValueError, match=f"^{name} must be a "):
            make(name, outside)
    if name not in ("n_kv_heads", "max_tokens"):
        with pytest.raises(ValueError, match=f"^{name} must be a "):
            make(name, None)


def test_whole_numbers_have_whole_limits() -> None:
    assert {name for name in LIMITS if not is_whole(name)} == {
        "temperature",
        "dropout",
        "lookup",
        "sharpness",
        "least",
        "most",
        "learning_rate",
        "given_scale",
        "given_softcap",
        "rotary_base",
    }
    for name, limit in LIMITS.items():
        kinds = {type(value) for value in limit}
        assert kinds == ({int} if is_whole(name) else {float})

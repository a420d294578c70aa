"""What a training's history shows: when its heads formed, and when its loss fell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

FORMED = 0.5  # the share of its attention that a head gives to where a perfect one looks
HIGH, LOW = 0.85, 0.25  # of the first loss: from the one to the other is the fall


class Measured(Protocol):
    """One step of a history: attnviz.training's Progress."""

    @property
    def step(self) -> int: ...
    @property
    def loss(self) -> float: ...
    @property
    def scores(self) -> dict[tuple[int, int], dict[str, float]]: ...


class Formed(NamedTuple):
    """When a head first gave FORMED of its attention to where it should look; all from 0."""

    step: int
    layer: int
    head: int


class Fall(NamedTuple):
    """The part of a training in which the loss fell."""

    begin: int  # the last step at which it was still HIGH of the first
    end: int  # the first step at which it was LOW of it
    first: float
    high: float  # the loss at begin
    low: float  # the loss at end


def heads_form(history: Sequence[Measured]) -> tuple[Formed | None, Formed | None]:
    """Return when the first previous-token head formed, and the first induction head; None for one that did not."""
    return _formed(history, "previous"), _formed(history, "induction")


def _formed(history: Sequence[Measured], name: str) -> Formed | None:
    for measured in history:
        for (layer, head), scores in measured.scores.items():
            if scores.get(name, 0.0) >= FORMED:
                return Formed(measured.step, layer, head)
    return None


def loss_falls(history: Sequence[Measured]) -> Fall | None:
    """Return where the loss fell from HIGH to LOW of its first value; None when it did not."""
    if not history:
        return None
    first = history[0].loss
    end = next((measured for measured in history if measured.loss <= LOW * first), None)
    if end is None:
        return None
    begin = [measured for measured in history if measured.step < end.step and measured.loss >= HIGH * first]
    before = begin[-1] if begin else history[0]
    return Fall(before.step, end.step, first, before.loss, end.loss)

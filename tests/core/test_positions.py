import math

import pytest
import torch

from attnviz.core.positions import sinusoidal


@pytest.mark.parametrize(("n", "d_model"), [(5, 8), (3, 7), (1, 1), (0, 4), (600, 2)])
def test_sinusoidal_is_the_papers_formula(n: int, d_model: int) -> None:
    waves = sinusoidal(n, d_model)
    assert waves.dtype == torch.float32
    assert waves.shape == (n, d_model)
    for s in range(n):
        for m in range(d_model):
            angle = s / 10000 ** (2 * (m // 2) / d_model)
            assert waves[s, m].item() == pytest.approx(math.cos(angle) if m % 2 else math.sin(angle), abs=1e-7)


def test_a_longer_sequence_begins_as_the_shorter_one() -> None:
    assert torch.equal(sinusoidal(9, 6)[:4], sinusoidal(4, 6))


@pytest.mark.parametrize(
    ("n", "d_model", "message"),
    [
        (-1, 4, "n: expected a whole number of at least 0, got -1"),
        (3, 0, "d_model: expected a whole number of at least 1, got 0"),
    ],
)
def test_what_does_not_fit_is_named(n: int, d_model: int, message: str) -> None:
    with pytest.raises(ValueError) as error:
        sinusoidal(n, d_model)
    assert str(error.value) == message

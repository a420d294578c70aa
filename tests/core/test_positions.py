"""What is added to X: the waves against plain math, the table against torch's own, its digits written down."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attnviz.core.embeddings import embed
from attnviz.core.positions import learned, sinusoidal

GOLDEN = [
    [1.0267584323883057, 0.7154446244239807, 0.6203784942626953],
    [2.482235908508301, -0.37946057319641113, 0.5105112791061401],
]


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
    assert torch.equal(learned(9, 6, seed=1)[:4], learned(4, 6, seed=1))


@pytest.mark.parametrize(("small", "large"), [(1, 2), (15, 17), (16, 64)])
def test_a_longer_learned_vector_begins_with_the_shorter_one(small: int, large: int) -> None:
    assert torch.equal(learned(3, large, seed=0)[:, :small], learned(3, small, seed=0))


def test_the_learned_table_is_read_as_an_embedding_of_the_places() -> None:
    table, ids = learned(10, 4, seed=0), torch.tensor([[0, 1, 2, 3], [5, 6, 7, 8]])
    embedding = torch.nn.Embedding.from_pretrained(table)
    assert torch.equal(embedding(ids)[0], learned(4, 4, seed=0))
    assert torch.equal(embedding(ids)[1], table[5:9])


def test_the_learned_table_on_every_machine() -> None:
    assert learned(2, 3, seed=0).tolist() == GOLDEN
    code = (
        "import torch; from attnviz.core.positions import learned\n"
        "assert 'DEFAULT' in torch.backends.cpu.get_cpu_capability()\n"
        "print(learned(2, 3, seed=0).tolist())"
    )
    path = os.pathsep.join([str(Path.cwd()), *sys.path])
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "PYTHONPATH": path}
    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=True
    ).stdout
    assert printed.strip() == str(GOLDEN)


def test_learned_vectors_are_standard_normal_and_all_different() -> None:
    table = learned(300, 32, seed=0)
    assert table.dtype == torch.float32
    assert table.mean().item() == pytest.approx(0, abs=0.03)
    assert table.std().item() == pytest.approx(1, abs=0.03)
    assert len({tuple(row.tolist()) for row in table}) == 300
    assert not torch.equal(table, learned(300, 32, seed=1))
    assert not torch.equal(table[3], embed(["3"], 32, seed=0)[0])  # the token "3" is something else than place 3
    assert learned(0, 4, seed=0).shape == (0, 4)


@pytest.mark.parametrize("make", [sinusoidal, lambda n, d_model: learned(n, d_model, seed=0)])
@pytest.mark.parametrize(
    ("n", "d_model", "raised", "message"),
    [
        (-1, 4, ValueError, "n: expected a whole number of at least 0, got -1"),
        (3, 0, ValueError, "d_model: expected a whole number of at least 1, got 0"),
        (0, 0, ValueError, "d_model: expected a whole number of at least 1, got 0"),
        (2.5, 4, TypeError, "n: expected a whole number of at least 0, got 2.5"),
        (2, "4", TypeError, "d_model: expected a whole number of at least 1, got '4'"),
    ],
)
def test_what_does_not_fit_is_named(
    make: Callable[[int, int], torch.Tensor], n: int, d_model: int, raised: type[Exception], message: str
) -> None:
    with pytest.raises(raised) as error:
        make(n, d_model)
    assert str(error.value) == message

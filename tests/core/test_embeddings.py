"""Seeded numbers: the same on every machine, so their digits are written down here."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attnviz.core.embeddings import embed, token_vector, weight

GOLDEN_X = [
    [2.5011420249938965, -1.226888656616211, 0.10120707005262375, -0.8228352069854736],
    [0.3835657238960266, 0.30302193760871887, -1.390445590019226, 0.12441287934780121],
]
GOLDEN_W = [
    [-0.8099167943000793, 0.17549079656600952, -0.5581838488578796],
    [0.021197829395532608, -0.5943903923034668, 0.5103324055671692],
    [0.2625586986541748, 0.12214668840169907, 0.21552659571170807],
    [-0.28424355387687683, -0.8203211426734924, -0.2084510773420334],
]


def test_golden_values() -> None:
    assert embed(["the", "猫"], 4, seed=0).tolist() == GOLDEN_X
    assert weight("w_q", 4, 3, seed=7).tolist() == GOLDEN_W


def test_golden_values_on_the_plainest_cpu_kernels() -> None:
    code = (
        "import torch; from attnviz.core.embeddings import embed, weight\n"
        "assert 'DEFAULT' in torch.backends.cpu.get_cpu_capability()\n"
        r"print((embed(['the', '\u732b'], 4, seed=0).tolist(), weight('w_q', 4, 3, seed=7).tolist()))"
    )
    path = os.pathsep.join([str(Path.cwd()), *sys.path])
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "PYTHONPATH": path}
    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=True
    ).stdout
    assert printed.strip() == str((GOLDEN_X, GOLDEN_W))


def test_one_token_one_vector_everywhere() -> None:
    x = embed(["the", "cat", "the"], 8, seed=3)
    assert x.dtype == torch.float32
    assert x.shape == (3, 8)
    assert torch.equal(x[0], x[2])
    assert not torch.equal(x[0], x[1])
    assert torch.equal(x[1], embed(["cat"], 8, seed=3)[0])
    assert torch.equal(x[1], token_vector("cat", 8, seed=3))


@pytest.mark.parametrize(("small", "large"), [(1, 2), (8, 9), (15, 17), (16, 64)])
def test_a_longer_vector_begins_with_the_shorter_one(small: int, large: int) -> None:
    assert torch.equal(token_vector("cat", large, seed=0)[:small], token_vector("cat", small, seed=0))


def test_more_columns_leave_the_others_alone() -> None:
    assert torch.equal(weight("w_q", 4, 9, seed=0)[:, :5], weight("w_q", 4, 5, seed=0))


def test_kind_name_and_seed_all_count() -> None:
    drawn = [
        token_vector("w_q 0", 4, seed=0),
        token_vector("w_q 0", 4, seed=1),
        token_vector("w_k 0", 4, seed=0),
        weight("w_q", 4, 1, seed=0)[:, 0] * 2,
    ]
    assert len({tuple(vector.tolist()) for vector in drawn}) == 4


def test_standard_deviations() -> None:
    assert embed([str(i) for i in range(300)], 32, seed=0).std().item() == pytest.approx(1, abs=0.03)
    assert weight("w_q", 64, 64, seed=0).std().item() == pytest.approx(1 / 8, abs=0.005)


def test_odd_tokens_and_none_at_all() -> None:
    assert token_vector("\ud800", 2, seed=0).isfinite().all()  # a lone surrogate has no UTF-8
    assert token_vector("", 2, seed=0).isfinite().all()
    assert embed([], 4, seed=0).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: embed([], 0, seed=0), "d_model: expected a whole number of at least 1, got 0"),
        (lambda: token_vector("cat", 0, seed=0), "d_model: expected a whole number of at least 1, got 0"),
        (lambda: weight("w_q", 0, 3, seed=0), "rows: expected a whole number of at least 1, got 0"),
        (lambda: weight("w_q", 3, -1, seed=0), "cols: expected a whole number of at least 1, got -1"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message

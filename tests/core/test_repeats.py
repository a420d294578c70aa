"""The masses on repeated tokens and their scores, on maps whose values are known and against plain loops."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attnviz.core import masks, statistics

QUICK = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**31)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}

# The row of the second "a" gives 0.5 to the first and 0.25 to the "b" after it; that of the second "b" 0.125 to
# the first, and 0.5 to what followed that; the last "b" follows itself, and so its own key follows a "b".
TOKENS = ["a", "b", "a", "b", "b"]
KNOWN = torch.tensor(
    [
        [1.000, 0.000, 0.000, 0.000, 0.000],
        [0.500, 0.500, 0.000, 0.000, 0.000],
        [0.500, 0.250, 0.250, 0.000, 0.000],
        [0.250, 0.125, 0.500, 0.125, 0.000],
        [0.000, 0.250, 0.125, 0.500, 0.125],
    ]
)
DUPLICATE = [0, 0, 0.5, 0.125, 0.75]  # the last: keys 1 and 3
INDUCTION = [0, 0, 0.25, 0.5, 0.25]  # the last: keys 2 and 4
AS_IDS: list[tuple[str, Callable[[list[int]], Any]]] = [
    ("list", list),
    ("tuple", tuple),
    ("strings", lambda ids: [f"t{i}" for i in ids]),
    ("int64", torch.tensor),
    ("int32", lambda ids: torch.tensor(ids, dtype=torch.int32)),
    ("uint8", lambda ids: torch.tensor(ids, dtype=torch.uint8)),
    ("array", lambda ids: torch.tensor(ids).numpy()),
    ("list of tensors", lambda ids: list(torch.tensor(ids))),
    ("range over 64 bits", lambda ids: [2**80 + i for i in ids]),
]


def draw(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    noise = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return torch.softmax(noise, dim=-1).to(dtype)


def head_that_follows(ids: list[int]) -> Tensor:
    """A perfect induction head: all weight on the key after the token's last earlier place, else on key 0."""
    weights = torch.zeros(len(ids), len(ids))
    for s, token in enumerate(ids):
        places = [u + 1 for u in range(s) if ids[u] == token]
        weights[s, places[-1] if places else 0] = 1
    return weights


@pytest.mark.parametrize(("kind", "given_as"), AS_IDS, ids=[kind for kind, _ in AS_IDS])
def test_known_map(kind: str, given_as: Callable[[list[int]], Any]) -> None:
    ids = given_as([TOKENS.index(token) for token in TOKENS])
    assert statistics.duplicate_token_mass(KNOWN, ids).tolist() == DUPLICATE
    assert statistics.induction_mass(KNOWN, ids).tolist() == INDUCTION
    assert statistics.seen_before(ids).tolist() == [False, False, True, True, True]


def test_known_map_of_cached_keys() -> None:
    assert statistics.duplicate_token_mass(KNOWN[2:], TOKENS, offset=2).tolist() == DUPLICATE[2:]
    assert statistics.induction_mass(KNOWN[2:], TOKENS, offset=2).tolist() == INDUCTION[2:]
    assert statistics.induction_mass(KNOWN[:2], TOKENS).tolist() == INDUCTION[:2]


def test_known_scores() -> None:
    seen = statistics.seen_before(TOKENS)
    assert statistics.score(statistics.induction_mass(KNOWN, TOKENS), seen).item() == pytest.approx(1 / 3)
    assert statistics.score(statistics.duplicate_token_mass(KNOWN, TOKENS), seen).item() == pytest.approx(1.375 / 3)
    assert statistics.score(statistics.previous_token_mass(KNOWN)[..., 1:]).item() == pytest.approx(1.75 / 4)
    assert statistics.score(torch.tensor([1.0, 2.0]), torch.tensor([False, False])).item() == 0
    assert statistics.score(torch.zeros(3, 0)).tolist() == [0, 0, 0]


@QUICK
@given(seed=SEEDS, n=st.integers(1, 40), n_kinds=st.sampled_from([2, 5, 1000]))
def test_perfect_induction_head_has_1_on_the_second_half(seed: int, n: int, n_kinds: int) -> None:
    half = torch.randint(n_kinds, (n,), generator=torch.Generator().manual_seed(seed)).tolist()
    ids = half + half
    mass = statistics.induction_mass(head_that_follows(ids), ids)
    assert mass[n:].tolist() == [1.0] * n
    assert mass.tolist() == statistics.seen_before(ids).float().tolist()
    assert statistics.score(mass, statistics.seen_before(ids)).item() == 1


def test_other_heads_score_low() -> None:
    n = 16
    ids = torch.randperm(1000, generator=torch.Generator().manual_seed(0))[:n].repeat(2)
    seen = statistics.seen_before(ids)
    itself = torch.eye(2 * n)
    previous, duplicate = itself.roll(-1, dims=-1).tril(), itself.roll(n, dims=-1).tril()
    even = masks.causal(2 * n, 2 * n) / torch.arange(1.0, 2 * n + 1)[:, None]
    for head in (itself, previous, duplicate):
        assert statistics.score(statistics.induction_mass(head, ids), seen).item() == 0
    one_of_all = sum(1 / (s + 1) for s in range(n, 2 * n)) / n
    assert statistics.score(statistics.induction_mass(even, ids), seen).item() == pytest.approx(one_of_all)
    assert statistics.score(statistics.duplicate_token_mass(duplicate, ids), seen).item() == 1
    assert statistics.score(statistics.previous_token_mass(previous)[1:]).item() == 1


@QUICK
@given(
    seed=SEEDS,
    sizes=st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 5), st.integers(0, 5)),
    kind=st.sampled_from(["shared", "batched", "head axis 1", "each head"]),
    dtype=st.sampled_from(list(TOLERANCE)),
)
def test_masses_are_their_sums(seed: int, sizes: tuple[int, int, int, int], kind: str, dtype: torch.dtype) -> None:
    b, h, n_query, offset = sizes
    n_key = n_query + offset + seed % 2
    weights = draw((b, h, n_query, n_key), seed, dtype)
    shape = {"shared": (), "batched": (b,), "head axis 1": (b, 1), "each head": (b, h)}[kind]
    ids = torch.randint(3, (*shape, n_key), generator=torch.Generator().manual_seed(seed))
    duplicate = statistics.duplicate_token_mass(weights, ids, offset=offset)
    induction = statistics.induction_mass(weights, ids, offset=offset)
    assert duplicate.shape == induction.shape == (b, h, n_query)
    assert duplicate.dtype == induction.dtype == dtype
    full = (ids[:, None] if kind == "batched" else ids).expand(b, h, n_key)
    for i, j, s in itertools.product(range(b), range(h), range(n_query)):
        row, tokens, place = weights[i, j, s].tolist(), full[i, j].tolist(), s + offset
        same = [u for u in range(place) if tokens[u] == tokens[place]]
        tolerance = TOLERANCE[dtype]
        assert duplicate[i, j, s].item() == pytest.approx(sum(row[u] for u in same), rel=tolerance, abs=tolerance)
        assert induction[i, j, s].item() == pytest.approx(sum(row[u + 1] for u in same), rel=tolerance, abs=tolerance)


def test_ids_of_a_batch_go_to_its_sequences_not_to_its_heads() -> None:
    ids = [["a", "b", "a"], ["a", "b", "b"]]  # as many sequences as heads
    weights = draw((2, 2, 3, 3), 0)
    mass = statistics.induction_mass(weights, ids)
    for i in range(2):
        assert torch.equal(mass[i], statistics.induction_mass(weights[i], ids[i]))
        assert torch.equal(mass[i, 0], statistics.induction_mass(weights[:, 0], ids)[i])
    stacked = torch.stack([weights, weights.mT.softmax(dim=-1), weights])  # of three layers
    assert torch.equal(statistics.induction_mass(stacked, ids)[0], mass)
    seen = statistics.seen_before(ids)
    assert seen.tolist() == [[False, False, True], [False, False, True]]
    expected = torch.stack([mass[0, :, 2], mass[1, :, 2]])
    torch.testing.assert_close(statistics.score(mass, seen), expected)


@QUICK
@given(seed=SEEDS, shape=st.sampled_from([(), (4,), (2, 4), (2, 1, 4), (2, 3, 4), (3, 4), (2, 1, 1)]))
def test_score_is_the_mean_of_the_rows_that_count(seed: int, shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(seed)
    mass, where = (
        torch.rand(2, 3, 4, dtype=torch.float64, generator=generator),
        torch.rand(shape, generator=generator) < 0.5,
    )
    if shape == (3, 4):  # of the heads, not of two sequences: its own axis for these
        where = where[None]
    full = (where[:, None] if shape == (2, 4) else where).expand(2, 3, 4)
    scores = statistics.score(mass, where)
    assert scores.shape == (2, 3)
    for i, j in itertools.product(range(2), range(3)):
        rows = [mass[i, j, s].item() for s in range(4) if full[i, j, s]]
        assert scores[i, j].item() == pytest.approx(sum(rows) / len(rows) if rows else 0)
    torch.testing.assert_close(statistics.score(mass), mass.mean(dim=-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    weights = draw((2, 3, 300, 300), 0, dtype)
    ids = torch.randint(3, (300,), generator=torch.Generator().manual_seed(0))
    for mass in (statistics.duplicate_token_mass, statistics.induction_mass):
        rows = mass(weights, ids)
        assert torch.equal(rows, mass(weights.float(), ids).to(dtype))
        assert torch.equal(statistics.score(rows), statistics.score(rows.float()).to(dtype))


def test_gradient_is_that_of_finite_differences() -> None:
    def scores(weights: Tensor) -> Tensor:
        seen = statistics.seen_before(TOKENS)
        masses = (statistics.induction_mass(weights, TOKENS), statistics.duplicate_token_mass(weights, TOKENS))
        return torch.stack([statistics.score(mass, seen) for mass in masses])

    assert torch.autograd.gradcheck(scores, (draw((2, 5, 5), 0).requires_grad_(),))


class Count(TorchDispatchMode):
    """How many operations torch was asked for."""

    n = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.n += 1
        return func(*args, **(kwargs or {}))


def test_no_statistic_loops_over_tokens() -> None:
    counts = []
    for n in (3, 30):
        weights, value, ids = draw((1, 2, n, n), 0), torch.ones(1, 2, n, 4, dtype=torch.float64), torch.arange(n) % 2
        with Count() as count:
            statistics.entropy_share(weights), statistics.effective_tokens(weights)
            statistics.mean_distance(weights), statistics.sink_mass(weights), statistics.previous_token_mass(weights)
            statistics.duplicate_token_mass(weights, ids)
            statistics.score(statistics.induction_mass(weights, ids), statistics.seen_before(ids))
            statistics.contribution(weights, value), statistics.rollout([weights])
        counts.append(count.n)
    assert counts[0] == counts[1] > 20

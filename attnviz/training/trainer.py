"""One run: step by step from the first, untrained weights to the last, with what was measured on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.limits import SNAPSHOT_BYTES, SNAPSHOTS
from attnviz.training.model import Weights, forward, initial, named
from attnviz.training.recipe import Recipe
from attnviz.training.scores import Scores, accuracy, head_scores
from attnviz.training.tasks import Batch, batch, held_out, stream

BATCH = 64  # sequences a step, and those held out
EVERY = 5  # steps between two measurements on held-out sequences; more in a long run
MEASUREMENTS = 100  # on held-out sequences in one run, about
BETAS, EPSILON, DECAY = (0.9, 0.999), 1e-8, 0.01  # of AdamW, as torch.optim has them


class Progress(NamedTuple):
    """What was measured after one step."""

    step: int  # how often the weights were changed; 0 is untrained
    loss: float  # of the weights as they then were, on sequences not seen before, in nats an answer
    accuracy: float | None  # on held-out sequences, 0 to 1; None where it was not measured
    scores: Scores  # of each head on held-out sequences; empty where accuracy is None
    seconds: float  # spent in steps so far


class Failure(NamedTuple):
    """Why a run could not go on, and at which step."""

    code: str  # "loss_not_finite"
    step: int


class Training:
    """One run of a recipe, from which any thread may read while one thread steps.

    history holds the Progress of every step from 0 on: empty until the first is measured. snapshots holds
    (step, weights) from step 0 to the last one, evenly spaced. Both only grow. weights are the latest; failed is
    None, or why the run ended before its last step: weights are then the last that had a finite loss.
    Iterating takes the steps that are left. The same recipe gives the same numbers, bit by bit, on one machine
    with one torch thread (see threads.take_one_thread): a wide matrix product is rounded otherwise by two.

    >>> training = Training(Recipe(layers=1, width=8, steps=10))
    >>> steps = [progress.step for progress in training]
    >>> steps[0], steps[-1], training.done, training.snapshots[-1][0]
    (0, 10, True, 10)
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.failed: Failure | None = None
        self.history: list[Progress] = []
        self.weights = initial(recipe)
        self.snapshots: list[tuple[int, Weights]] = [(0, self.weights)]
        self._every = max(EVERY, -(-recipe.steps // MEASUREMENTS))
        self._stride = stride(recipe)
        self._generator = stream(recipe, "training")
        self._held = held_out(recipe, BATCH)
        self._tensors = {name: weight.clone().requires_grad_() for name, weight in self.weights.items()}
        self._adam = Adam(list(self._tensors.values()), recipe.learning_rate)
        self._loss: Tensor | None = None  # of the weights as they are, with what its gradient needs
        self._seconds = 0.0

    @property
    def step_number(self) -> int:
        """How often the weights were changed."""
        return self.history[-1].step if self.history else 0

    @property
    def measured(self) -> Progress | None:
        """The latest Progress that has an accuracy and scores; None before the first."""
        return next((progress for progress in reversed(self.history) if progress.scores), None)

    @property
    def done(self) -> bool:
        """Say whether no step is left to be taken."""
        return self.failed is not None or self.step_number >= self.recipe.steps

    def __iter__(self) -> Iterator[Progress]:
        """Take the steps that are left, one at a time."""
        while (progress := self.step()) is not None:
            yield progress

    def step(self) -> Progress | None:
        """Measure step 0 at the first call; at every other change the weights, and measure.

        None when no step is left, or when the loss is not finite: failed then says so.
        """
        if self.done:
            return None
        start, number = time.perf_counter(), 0
        if self._loss is not None:
            number = self.step_number + 1
            self._loss.backward()
            self._adam.step()
        asked = batch(self.recipe, BATCH, self._generator)
        self._loss = loss_of(forward(self.recipe, named(self._tensors), asked.tokens).logits, asked)
        loss = float(self._loss.detach())
        if not math.isfinite(loss):
            self.finish()
            self.failed = Failure("loss_not_finite", number)
            return None
        if number:
            self.weights = named(self._tensors).copy()
        last = number == self.recipe.steps
        if number and (last or number % self._stride == 0):
            self.snapshots.append((number, self.weights))
        right: float | None = None
        scores: Scores = {}
        if last or number % self._every == 0:
            right, scores = evaluate(self.recipe, self.weights, self._held)
        if last:
            self._loss = None  # frees what a further gradient would need
        self._seconds += time.perf_counter() - start
        progress = Progress(number, loss, right, scores, self._seconds)
        self.history.append(progress)
        return progress

    def finish(self) -> None:
        """Keep the latest weights as the last snapshot, of a run that ends before its last step."""
        if self.snapshots[-1][0] < self.step_number:
            self.snapshots.append((self.step_number, self.weights))


class Adam:
    """AdamW by torch's own kernel, the one of torch.optim.AdamW(fused=True), which is not used itself: its first
    step imports torch's compiler, 2.6 seconds and 80 MB. Source: Loshchilov and Hutter 2019, algorithm 2."""

    def __init__(self, tensors: list[Tensor], learning_rate: float) -> None:
        self.tensors, self.learning_rate = tensors, learning_rate
        self.means = [torch.zeros_like(tensor) for tensor in tensors]
        self.squares = [torch.zeros_like(tensor) for tensor in tensors]
        self.steps = [torch.zeros(()) for _ in tensors]

    @torch.no_grad()
    def step(self) -> None:
        """Change the tensors by their gradients, which are then forgotten."""
        torch._foreach_add_(self.steps, 1)
        torch._fused_adamw_(
            self.tensors,
            [tensor.grad for tensor in self.tensors if tensor.grad is not None],
            self.means,
            self.squares,
            [],
            self.steps,
            lr=self.learning_rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=DECAY,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )
        for tensor in self.tensors:
            tensor.grad = None


def train(recipe: Recipe) -> Iterator[Progress]:
    """Train a recipe to its last step: the Progress of each, step 0 (untrained) first.

    >>> [progress.step for progress in train(Recipe(layers=1, width=8, steps=10))][:3]
    [0, 1, 2]
    """
    return iter(Training(recipe))


def loss_of(logits: Tensor, asked: Batch) -> Tensor:
    """Cross-entropy in nats, the mean over the counted places: logits (b, s, v) -> ()."""
    targets = asked.targets.where(asked.counted, -100)  # what cross_entropy leaves out
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def evaluate(recipe: Recipe, weights: Weights, asked: Batch) -> tuple[float, Scores]:
    """The accuracy and every head's scores on some sequences."""
    read = forward(recipe, weights, asked.tokens, keep=True)
    return accuracy(read.logits, asked), head_scores(recipe, asked.tokens, read.layers)


def stride(recipe: Recipe) -> int:
    """Of how many steps one is kept as a snapshot, so that all fit into what limits allow."""
    fit = min(SNAPSHOTS, SNAPSHOT_BYTES // (4 * recipe.n_parameters))
    return -(-recipe.steps // (fit - 2))  # step 0, and the last where a run is stopped between two

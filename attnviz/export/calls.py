"""What a lab computed as a program: the very functions that ran, what they were given, and what is on screen of it.

Where a function was given a piece of the experiment's own attention, the program computes that first; every other
number that it was given stands in the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from attnviz.experiment import Experiment, Run, View
from attnviz.export import program
from attnviz.export.bundle import bundle, is_ours
from attnviz.export.call_lines import Call as Call
from attnviz.export.call_lines import Written, root
from attnviz.export.known import known
from attnviz.export.literals import any_literal
from attnviz.export.named import expression, tensors
from attnviz.export.parts import Part, start
from attnviz.labs.equation_loops import Loop
from attnviz.locale import _

_PRINTED = "precision=4, sci_mode=False, threshold=100_000, linewidth=200"  # matrices whole, rows in one line


class Shown(NamedTuple):
    """A matrix that is on screen, and what it is called there."""

    title: str
    values: Tensor


def parts(calls: Sequence[Call], shown: Sequence[Shown], experiment: Experiment, run: Run, view: View) -> list[Part]:
    """Return the steps of the program; the last prints what is shown, and what else was computed.

    Raises TypeError for an argument that a program cannot hold, ValueError for a call that has a step's name.
    """
    own = known(run)
    functions = [call.function for call in calls if is_ours(call.function) and not isinstance(call.function, Loop)]
    loops = [*dict.fromkeys(call.function.code for call in calls if isinstance(call.function, Loop))]
    defined = {
        line.partition("(")[0].partition(":")[0].split()[-1] for line in (*bundle(functions).definitions, *loops)
    }
    names = {call.name for call in calls}
    if both := names & (defined | set(map(root, own))):
        raise ValueError(f"{', '.join(sorted(both))}: a call needs a name that is no function's and no step's")
    written = Written(own, {}, {}, {}, [], {}, {}, defined | names | {"n", "tokens", "torch"})
    lines = [line for call in calls for line in written.call(call)]
    printed = list(_printed(calls, shown, run, written))
    tokens = [list(sequence) for sequence in run.tokens]
    before = _needed(program.parts(experiment, run, view)[1:-1], written) if written.uses(own) else []
    made = bundle([*written.types.values(), *functions])
    definitions = [*made.definitions, *loops]
    given = [Part(_("What is given"), "\n".join(written.given))] if written.given else []
    imports = ("from __future__ import annotations", *made.imports)
    return [
        Part(_("torch, and the tokens"), start(tokens, [*before, *given], _PRINTED, imports)),
        *before,
        *given,
        *([Part(_own_words(), "\n\n\n".join(definitions))] if definitions else []),
        *([Part(_("What the page computes"), "\n".join(lines))] if lines else []),
        Part(_("What is on screen"), "\n".join(printed)),
    ]


def _needed(steps: Sequence[Part], written: Written) -> Sequence[Part]:
    """The steps of the attention as far as something is made of them, or shown."""
    last = max(
        i
        for i, step in enumerate(steps)
        for line in step.code.splitlines()
        if " = " in line and set(line.partition(" = ")[0].split(", ")) & written.used.keys()
    )
    return steps[: last + 1]


def unmade(calls: Sequence[Call], shown: Sequence[Shown], run: Run) -> dict[str, Shown]:
    """Return what is shown and neither a call nor the experiment's own attention made, by names that a program has.

    Of a trained model, whose weights stand in no program, these are numbers that it gave.
    """
    made = known(run) | _results(calls)
    return {f"shown_{i}": one for i, one in enumerate(shown, 1) if expression(one.values, made, copies=True) is None}


def results(calls: Sequence[Call], shown: Sequence[Shown], run: Run) -> dict[str, Tensor]:
    """Return every tensor that came of the calls, and what is shown besides, by the names of the program."""
    return _results(calls) | {name: one.values for name, one in unmade(calls, shown, run).items()}


def _own_words() -> str:
    return _("The functions of attnviz that ran, without their checks of what they are given")


def _results(calls: Sequence[Call]) -> dict[str, Tensor]:
    return {name: tensor for call in calls for name, tensor in tensors(call.name, call.result)}


def _printed(calls: Sequence[Call], shown: Sequence[Shown], run: Run, written: Written) -> Iterator[str]:
    """The lines that print what is shown, and each result of which nothing is shown and nothing made."""
    given = unmade(calls, shown, run)
    written.given.extend(f"{name} = {any_literal(one.values.detach())}" for name, one in given.items())
    made = dict(written.own) | _results(calls) | {name: one.values for name, one in given.items()}
    for one in shown:
        found = expression(one.values, made, copies=True)
        assert found is not None
        written.used[root(found)] = None
        title = program.printable(" ".join(one.title.split()))
        yield f"print({title!r})"
        yield f"print({found})  # {title}"
    for call in calls:
        if call.name not in written.used:
            yield f"print({call.name!r})"
            several = type(call.result) in (tuple, list) and not all(isinstance(one, int) for one in call.result)
            yield f'print(*{call.name}, sep="\\n")' if several else f"print({call.name})"

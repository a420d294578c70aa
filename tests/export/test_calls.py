"""What a lab computed, as a program: its calls, what they were given, and what is printed."""

import contextlib
import io
from typing import Any

import pytest
import torch

from attnviz.core.rotary import Rotary, rotate
from attnviz.experiment import Experiment, Run, View
from attnviz.export.calls import Call, Shown, parts, results, unmade
from attnviz.export.program import About, written
from attnviz.labs.decoding_costs import multiplications_by_step
from attnviz.labs.equation_loops import write
from attnviz.labs.heads import averaged, cross
from attnviz.labs.masks import hide
from attnviz.labs.positions import Head, attend
from attnviz.labs.proof import knock_out
from attnviz.labs.sizes import Sizes, compared, total
from tests.hostile import HOSTILE

EXPERIMENT = Experiment("the cat sat", n_heads=4, n_kv_heads=2, mask="causal")
RUN = EXPERIMENT.run()


def call(name: str, function: Any, *args: Any, **named: Any) -> Call:
    return Call(name, function, args, named, function(*args, **named))


def text_of(calls: list[Call], shown: list[Shown], experiment: Experiment = EXPERIMENT, run: Run = RUN) -> str:
    return written(About("the title", "", "1"), parts(calls, shown, experiment, run, View()))


def ran(text: str) -> tuple[dict[str, Any], str]:
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, "program", "exec"), names)  # noqa: S102  # our own program
    return names, printed.getvalue()


def test_a_piece_of_the_attention_is_computed_and_not_copied() -> None:
    assert RUN.trace is not None
    masked, value = RUN.trace.masked[0, 3, :2, :2], RUN.trace.value[0, 1, :2]
    made = call("knocked", knock_out, masked, value, 1, 0, "edge")
    text = text_of([made], [Shown("a after", made.result.weights)])
    assert "knocked = knock_out(masked[0, 3, :2, :2], V[:, ::2][0, 1, :2], 1, 0, 'edge')" in text
    assert "print(knocked.weights)  # a after" in text
    names, printed = ran(text)
    torch.testing.assert_close(names["knocked"].output, made.result.output)
    assert printed == "a after\ntensor([[1., 0.],\n        [0., 1.]])\n"


def test_what_is_no_piece_of_it_stands_in_the_program_and_alone() -> None:
    weights = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(0))
    text = text_of([call("mean", averaged, weights)], [])
    assert "W_Q" not in text and "weights = torch.tensor(" in text and "mean = averaged(weights)" in text
    assert torch.equal(ran(text)[0]["mean"], weights.mean(0))


def test_two_tensors_of_one_name_are_two_and_one_is_one() -> None:
    first, second = torch.ones(1, 2, 2), torch.zeros(1, 2, 2)
    calls = [call("one", averaged, first), call("two", averaged, second), call("three", averaged, first)]
    text = text_of(calls, [])
    assert text.count("weights = ") == 1 and text.count("weights_2 = ") == 1
    assert "three = averaged(weights)" in text


def test_a_result_is_given_to_the_next_call() -> None:
    first = call("one", torch.add, torch.ones(2, 2), torch.ones(2, 2))
    text = text_of([first, call("two", torch.mul, first.result, 3.0)], [])
    assert "two = torch.mul(one, 3.0)" in text
    assert "print(one)" not in text and "print(two)" in text  # of the one, the other is made


def test_a_result_that_is_several_is_given_by_name_and_printed_by_line() -> None:
    sizes = call("sizes", Sizes, 8, 4, 4, n_heads=2, n_kv_heads=2)
    steps = call("steps", compared, sizes.result, 10)
    text = text_of([sizes, steps, call("whole", total, steps.result[:7]), call("same", total, steps.result)], [])
    assert "sizes = Sizes(8, 4, 4, n_heads=2, n_kv_heads=2)\nsteps = compared(sizes, 10)\n" in text
    assert "\nsame = total(steps)\n" in text
    names, printed = ran(text)
    assert names["steps"] == steps.result and "print(steps)" not in text
    alone, printed = ran(text_of([sizes, steps], []))
    assert alone["steps"] == steps.result and printed.splitlines() == ["steps", *map(str, alone["steps"])]


def test_a_list_of_numbers_is_printed_in_one_line() -> None:
    sizes = call("sizes", Sizes, 8, 4, 4, n_heads=2, n_kv_heads=2)
    steps = call("steps", multiplications_by_step, sizes.result, 3, cached=True)
    assert ran(text_of([sizes, steps], []))[1] == f"steps\n{steps.result}\n"


def test_every_kind_of_argument() -> None:
    eye = torch.eye(2)
    mask = torch.tensor([[True, False], [True, True]])
    calls = [
        call("hidden", hide, eye, eye, mask, hidden=float("-inf"), after=False),
        call(
            "read",
            cross,
            eye,
            torch.ones(3, 2),
            w_q=eye,
            w_k=eye,
            w_v=eye,
            n_heads=1,
            n_kv_heads=1,
            scale=0.5,
            rotary=Rotary("interleaved"),
        ),
        call("picked", torch.index_select, eye, 0, torch.tensor([1, 0])),
        call("exact", torch.add, eye.double() / 3, 1),
        call("stacked", torch.stack, [eye, eye], 0),
    ]
    names, _printed = ran(text_of(calls, []))
    for one in calls[2:]:
        assert torch.equal(names[one.name], one.result) and names[one.name].dtype == one.result.dtype
    assert torch.equal(names["hidden"].output, calls[0].result.output)
    assert torch.equal(names["read"].weights, calls[1].result.weights)
    assert "Rotary(layout='interleaved')" in text_of(calls, [])


def test_what_a_program_cannot_hold_is_refused() -> None:
    made = Call("made", averaged, (object(),), {}, torch.ones(1))
    with pytest.raises(TypeError, match="weights: a program cannot hold a object"):
        text_of([made], [])


def test_what_nothing_makes_is_given_as_it_is() -> None:
    odd = torch.tensor([[float("nan"), -1.5]])
    shown = [Shown("of a model", odd)]
    assert list(unmade([], shown, RUN)) == ["shown_1"]
    text = text_of([], shown)
    assert "print(shown_1)  # of a model" in text
    assert torch.equal(ran(text)[0]["shown_1"].nan_to_num(), odd.nan_to_num())
    assert list(results([], shown, RUN)) == ["shown_1"]


@pytest.mark.parametrize("bad", HOSTILE)
def test_no_token_title_or_argument_is_code(bad: str) -> None:
    experiment = Experiment(f"{bad} b", tokenizer="spaces")
    run = experiment.run()
    assert run.trace is not None
    text = text_of([], [Shown(f"{bad}\nimport os\r\x0b\u2028import os", run.trace.weights[0, 0])], experiment, run)
    names, _printed = ran(text)
    assert names["tokens"] == [list(run.tokens[0])] and "os" not in names
    assert not [line for line in text.splitlines() if line.startswith("import os")]


def test_a_named_tuple_that_differs_a_little_from_one_before_is_that_with_these_fields_replaced() -> None:
    first = Rotary("interleaved", 500.0, 3)
    ones = torch.ones(2, 2)
    head = Head(ones, ones, ones, ones, 0.5, "alibi", typed={"q": torch.zeros(2, 2)})
    calls = [
        Call("turns", Rotary, tuple(first), {}, first),
        call("later", rotate, torch.ones(2, 2), first._replace(offset=4)),
        call("other", rotate, torch.ones(2, 2), Rotary("half", 500.0)),
        Call("head", Head, (), head._asdict(), head),
        call("attended", attend, head._replace(positions="none")),
    ]
    text = text_of(calls, [])
    assert "later = rotate(x, turns._replace(offset=4))" in text
    assert "other = rotate(x_2, Rotary(base=500.0))" in text
    assert "attended = attend(head._replace(positions='none'))" in text
    names, _printed = ran(text)
    for one in (calls[1], calls[2]):
        assert torch.equal(names[one.name], one.result)
    assert torch.equal(names["attended"].weights, calls[4].result.weights)


@pytest.mark.parametrize("text", ["the cat sat", "the cat sat\na dog", "a dog\nthe cat sat"])
@pytest.mark.parametrize("mask", ["none", "causal", "window"])
def test_the_mask_and_what_is_rotated_are_the_attentions_own(text: str, mask: str) -> None:
    experiment = Experiment(text, n_heads=2, n_kv_heads=1, mask=mask, positions="rope_half")
    run = experiment.run()
    assert run.projected_query is not None and run.projected_key is not None
    shown = [Shown("query", run.projected_query[0, 1]), Shown("key", run.projected_key[-1, 0])]
    shown += [] if run.seen is None else [Shown("mask", run.seen[-1, 0, :2])]
    assert not unmade([], shown, run)
    calls = [call("all", torch.mul, one.values, 1) for one in shown]
    made = text_of([one._replace(name=f"same_{i}") for i, one in enumerate(calls)], [], experiment, run)
    assert "same_0 = torch.mul(projected_Q[0, 1], 1)" in made
    names, _printed = ran(made)
    for i, one in enumerate(shown):
        torch.testing.assert_close(names[f"same_{i}"].float(), one.values.float())


def test_a_loop_that_was_written_stands_in_the_program_and_runs() -> None:
    assert RUN.trace is not None
    loop = write("B = A.new_zeros(3)\nfor i in range(3):\n    B[i] = A[i] * C[i]", ["A", "C"], "B")
    row, other = RUN.trace.weights[0, 1, 2], torch.tensor([1.0, 2.0, 3.0])
    text = text_of([call("looped", loop, row, other), call("again", loop, row, row)], [])
    assert "def loop(A, C):\n    B = A.new_zeros(3)" in text and text.count("def loop(") == 1
    assert "C = torch.tensor([1.0, 2.0, 3.0])" in text and "looped = loop(a[0, 1, 2], C)" in text
    torch.testing.assert_close(ran(text)[0]["looped"], row * other)


def test_the_weights_of_all_heads_are_called_by_what_cuts_them() -> None:
    apart = RUN.w_k.unflatten(1, (2, -1)).transpose(0, 1)  # (m, h*k) -> (h, m, k)
    text = text_of([call("total", torch.sum, apart)], [])
    assert "total = torch.sum(W_K.unflatten(1, (2, -1)).permute(1, 0, 2))" in text
    torch.testing.assert_close(ran(text)[0]["total"], RUN.w_k.sum())


def test_where_nothing_is_masked_the_scores_are_called_as_the_function_has_them() -> None:
    experiment = Experiment("the cat sat")
    run = experiment.run()
    assert run.trace is not None
    scores, value = run.trace.scaled[0, 0], run.trace.value[0, 0]
    assert scores.data_ptr() == run.trace.masked.data_ptr()
    seen = torch.eye(3).bool()
    calls = [call("kept", hide, scores, value, seen), call("knocked", knock_out, scores, value, 1, 0, "edge")]
    text = text_of(calls, [], experiment, run)
    assert "kept = hide(scaled[0, 0], " in text and "knocked = knock_out(masked[0, 0], " in text

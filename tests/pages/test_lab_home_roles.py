"""Queries, keys and values, and einsum, taken home: in every state that draws something else."""

import re
from typing import Any

import pytest
import torch

from attnviz.ui.labs import home
from tests.pages.labs import LABS, Lab
from tests.pages.session import Session
from tests.pages.test_lab_home import ABOUT, check_program, opened, published, ran

ROLES = [lab for lab in LABS if lab.page == "roles"]
(EINSUM,) = [lab for lab in LABS if lab.page == "einsum"]
ALL = {"reveal": "5,6,7,9,10,25"}
STATES = {
    "a padded sequence of a batch": {"text": "the cat sat on a mat\na cat", "b": "1"},
    "a shared key head": {"n_heads": "4", "n_kv_heads": "2", "h": "3", "d_k": "3", "d_v": "5"},
    "one word": {"text": "cat"},
    "the same word": {"text": "a a a"},
    "Chinese": {"text": "猫 坐 在 垫子 上", "lang": "zh"},
    "typed cells": {"edits": "k~0.1.0_5"},
    "no edge": {"mask": "causal", "positions": "rope_half"},
    "a bias": {"positions": "alibi", "n_kv_heads": "1", "h": "1"},
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("lab", ROLES, ids=str)
def test_roles_of_every_state_are_computed_again(lab: Lab, state: str) -> None:
    check_program(opened(lab, **ALL, **STATES[state]))


def test_many_tokens_and_features_are_computed_again() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    for lab in ROLES:
        check_program(opened(lab, text=text, s="50", from_s="40", d_model="64", d_k="16", **ALL))


def test_what_the_answers_say_is_computed_too() -> None:
    query = {lab.section: str(home.made("py", published(opened(lab, **ALL)), ABOUT)) for lab in ROLES}
    for section, line in (
        ("lookup", "cold = look_up(5, 0, 0.01)"),
        ("tables", "query_to_key = largest_difference(Q[0, 0], K[0, 0])"),
        ("order", "gram_diagonal = diagonal(X[0], X[0])"),
        ("matrices", "tied_diagonal = diagonal(Q[0, 0], Q[0, 0])"),
    ):
        assert line in query[section]
    assert "cold" not in str(home.made("py", published(opened(ROLES[0])), ABOUT))


def test_what_is_tied_alone_is_taken_home_as_it_is() -> None:
    session = opened(ROLES[3]).set("tied", True)
    assert "mirrored = mirror(Q[0, 0], Q[0, 0])" in check_program(session)
    session.set("tied", False)
    assert "mirrored = mirror(Q[0, 0], K[0, 0])" in check_program(session)


def test_another_temperature_is_taken_home() -> None:
    session = opened(ROLES[0]).set("lookup", 0.3)
    assert "looked_up = look_up(5, 0, 0.3)" in check_program(session)


BATCH = {"text": "the cat sat on\nthe dog", "n_heads": "4", "n_kv_heads": "2", "d_v": "3", "b": "1", "h": "3"}
EQUATIONS = [
    *("bsm,mk->bsk", "bsk,buk->bsu", "bsu,bud->bsd", "bhsk,bhuk->bhsu", "bik,bjk->bij", "btm,mk->btk", "bsu->bs"),
    *("ii->i", "ij->ji", "ij->", "i,j->ij", "...ij,...jk->...ik", "bsm,hmk->bhsk", "bshk,buhk->bhsu", "bhud->dubh"),
    *("bsm,bum->bsu", "b,b->b", "A,bA", "bhsu,bhud->bhsd", "bsk,bsk->bs", "i,i,i,i,i,i,i,i->i"),
]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_any_equation_is_computed_by_torch_and_by_its_loop(equation: str) -> None:
    session = opened(EINSUM, equation=equation, reveal="20", **BATCH)
    text = check_program(session)
    found = ran(text)
    assert "given_" not in text and "shown_" not in text  # every operand is named
    result, terms = found["result"], found["terms"]
    where = tuple(terms.index.values())
    assert terms.total == pytest.approx(float(result[where]), abs=terms.tolerance)
    if "looped" in found:
        torch.testing.assert_close(found["looped"], result)
        assert found["apart"] == float((found["looped"] - result).abs().max())
    loop = "\n".join(re.sub("^    ", "", line) for line in text.partition("\ndef loop(")[2].splitlines()[1:])
    assert "looped" not in found or shown_loop(session) in loop


def shown_loop(session: Session) -> str:
    (drawn,) = session.html("<pre")
    return re.sub("<[^>]*>", "", drawn)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"equation": "bsk,buk->bsu", "h": "1"}, "result = torch.einsum('bsk,buk->bsu', Q[:, 1], K[:, 1])"),
        ({"equation": "bhsk,bhuk->bhsu", "n_kv_heads": "1"}, "result = torch.einsum('bhsk,bhuk->bhsu', Q, K_repeated)"),
        ({"equation": "isk,ju->isj", "sizes": "i=2"}, "result = torch.einsum('isk,ju->isj', A, B)"),
        ({"equation": "bsm,mk->bsk", "sizes": "s=2"}, "result = torch.einsum('bsm,mk->bsk', X[:, :2], W_Q[:, :4])"),
    ],
)
def test_the_program_has_the_line_of_the_page_on_what_it_reads(settings: dict[str, str], line: str) -> None:
    assert line in check_program(opened(EINSUM, **settings))


def test_the_element_that_is_chosen_is_written_out() -> None:
    session = opened(EINSUM, equation="bik,bjk->bij").set("index:i", 3)
    terms = ran(check_program(session))["terms"]
    assert terms.index == {"b": 0, "i": 2, "j": 0}
    (table,) = session.tables()
    assert len(terms.products) == len(table) - 1


def test_a_loop_that_is_too_long_is_left_out_and_many_operands_are_not() -> None:
    text = check_program(opened(EINSUM, equation="ij->i", sizes="i=20, j=600"))
    assert "loop" not in text.partition("# What the page computes")[2]
    many = check_program(opened(EINSUM, equation="i," * 80 + "i->i"))
    assert many.count(" = drawn(") >= 20


@pytest.mark.parametrize("equation", ["bik,bjk->bix", ""])
def test_of_an_equation_that_says_nothing_nothing_is_computed(equation: str) -> None:
    session = opened(EINSUM).set("equation", equation)
    now = published(session)
    assert now.calls == () == now.figures
    for kind in home.KINDS:
        made: Any = home.made(kind, now, ABOUT)
        assert made
    text = str(home.made("py", now, ABOUT))
    assert ran(text)["tokens"] and "einsum" not in text

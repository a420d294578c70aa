"""Positions and masks taken home, in the states in which they draw something else: the program computes it all."""

import re
from typing import Any
from urllib.parse import parse_qsl

import pytest

from attnviz.drawing import write_drawing
from attnviz.experiment import Experiment, to_query
from tests.pages.labs import Lab
from tests.pages.test_lab_home import SECTIONS, check_program, opened

BATCH = "the cat sat on the mat\nthe dog ran"
CHINESE = "我喜欢猫 <b>和</b> 狗"
KINDS = ("none", "sinusoidal", "learned", "rope_half", "rope_interleaved", "alibi")
ORDER, TERMS, ROTATION, MASKS = (
    next(lab for lab in SECTIONS if str(lab) == name)
    for name in ("positions", "positions-terms", "positions-rotation", "scores-masks")
)
GROUPED = {"n_heads": "4", "n_kv_heads": "2", "h": "3"}
DRAWN = write_drawing([[(s + u) % 3 != 1 for u in range(4)] for s in range(4)])
ANSWERS = "11,12,13,14"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lab", [ORDER, TERMS, ROTATION], ids=str)
def test_each_kind_of_positions_in_a_shuffled_and_padded_sequence(lab: Lab, kind: str) -> None:
    asked = {"text": BATCH, "b": "1", "mask": "window", "positions": kind, "order": "3 1 2", "lang": "zh", **GROUPED}
    text = check_program(opened(lab, reveal="16,17,18", s="2", u="1", **asked))
    if lab is ORDER:
        assert "shuffled = shuffle(head, (2, 0, 1))" in text
        assert "without_positions = attend(head._replace(positions='none'))" in text or kind == "none"
        assert "changed_with_mask = changed(head._replace(" in text
    if lab is TERMS:
        stands_in = kind if kind == "learned" else "sinusoidal"
        assert "beside = concatenate(" in text and f"place = places('{stands_in}', 3, 8, 0)" in text


@pytest.mark.parametrize("kind", ["none", "sinusoidal", "rope_half"])
@pytest.mark.parametrize("lab", [ORDER, TERMS, ROTATION], ids=str)
def test_numbers_that_were_typed(lab: Lab, kind: str) -> None:
    cells = {"x": ((0, 1, 2), 5.0), "q": ((0, 0, 5), -2.0), "k": ((0, 3, 6), 1.5), "v": ((0, 2, 4), 3.0)}
    typed: dict[str, Any] = {name: (cell,) for name, cell in cells.items()}
    e = Experiment(CHINESE, n_heads=2, positions=kind, mask="causal", **typed)
    query = {**dict(parse_qsl(to_query(e))), **lab.query, "order": "2 1", "h": "1", "lang": "zh"}
    text = check_program(opened(lab, **query))
    if lab is ORDER:
        assert "typed={'" in text and "'q': typed_q" in text and "'v': typed_v" in text
    if lab is TERMS:
        assert "content = without_places(" in text


def test_nothing_is_rotated_where_features_are_odd_and_where_there_is_one_token() -> None:
    assert "print(" not in check_program(opened(ROTATION, d_k="3", reveal="18"))
    for lab in (ORDER, TERMS, ROTATION):
        check_program(opened(lab, text="cat", positions="rope_half", reveal="16,17,18"))
    check_program(opened(ORDER, d_k="3", positions="rope_half"))


def test_what_rope_rotates_is_computed_and_not_copied() -> None:
    text = check_program(opened(ROTATION, positions="rope_interleaved", **GROUPED))
    assert "rotated = layouts(projected_Q[0, 3], projected_K[0, 1])" in text
    assert "print(curve_of_halves)" in text and "print(not_rotated)" in text


def test_an_answer_that_is_not_shown_is_not_given_away() -> None:
    assert "concatenate" not in check_program(opened(TERMS))
    assert "changed(" not in check_program(opened(ORDER, order="2 1"))
    assert not {"with_zero", "after_softmax", "plain_and_safe", "as_meant"} & set(
        re.findall(r"\w+", check_program(opened(MASKS, mask="causal")))
    )


# ---- masks ----


@pytest.mark.parametrize("mask", ["none", "causal", "window", "prefix", "drawn"])
@pytest.mark.parametrize(("text", "b"), [(BATCH, "0"), (BATCH, "1"), (CHINESE, "0")], ids=["longest", "padded", "one"])
def test_each_mask_with_and_without_padding(mask: str, text: str, b: str) -> None:
    asked = {"text": text, "b": b, "mask": mask, "drawn": DRAWN if mask == "drawn" else "", **GROUPED}
    made = check_program(opened(MASKS, reveal=ANSWERS, hidden_value="-1", positions="alibi", lang="zh", **asked))
    assert "with_mask = hide(scaled_with_cost" in made
    check_program(opened(MASKS, hidden_when="after", **asked))


@pytest.mark.parametrize("rows", ["000000", "111111"], ids=["nothing is seen", "everything is"])
def test_a_drawn_mask_that_hides_all_or_nothing(rows: str) -> None:
    drawn = write_drawing([[c == "1" for c in rows]] * 6)
    for text in ("the cat sat on the mat", BATCH):
        check_program(opened(MASKS, mask="drawn", drawn=drawn, reveal=ANSWERS, text=text, s="2"))
    check_program(opened(MASKS, text="cat", reveal=ANSWERS))


def test_the_grid_is_the_mask_of_the_attention_itself() -> None:
    assert "print(mask)  # mask" in check_program(opened(MASKS, mask="causal"))
    assert "print(mask[1, 0, :3])  # mask" in check_program(opened(MASKS, text=BATCH, b="1"))
    assert "print(nothing_hidden)  # mask" in check_program(opened(MASKS))


def test_it_is_the_mask_as_it_is_after_it_was_painted_and_the_hidden_score_as_it_was_chosen() -> None:
    session = opened(MASKS, mask="causal", reveal="13").click("mask", 4, 0)
    assert 'mask = torch.tensor([[int(c) for c in row] for row in ["100000", ' in check_program(session)
    session.set("hidden_value", "-10")
    assert "hidden=-10.0, after=False)" in check_program(session)


def test_a_part_that_runs_alone_leaves_nothing_behind() -> None:
    session = opened(ORDER, order="2 1")
    assert "shuffled = " in check_program(session)
    assert "shuffled = " not in check_program(session.press("order:reset"))
    session.press("order:shuffle")
    assert "shuffled = " in check_program(session)

"""The labs about the three steps taken home in each of their states: other rows, masks, heads, sequences and words."""

from typing import Any

import pytest

from tests.pages.labs import LABS, Lab
from tests.pages.test_lab_home import check_program, opened, published

ABOUT_STEPS = {lab.section or lab.page: lab for lab in LABS}
TWO = "the cat sat on the mat\nI see you"  # the second is padded
HIDDEN = {"mask": "window", "window_left": "0", "window_right": "0"}  # each row sees itself alone
CHINESE = {"lang": "zh", "text": "我 喜欢 “猫” $x$ *a*"}


def state(section: str, **query: str) -> Any:
    return pytest.param(ABOUT_STEPS[section], query, id="-".join([section, *map(":".join, query.items())])[:60])


STATES = [
    state("parameters", length="6", d_v="3", reveal="1,2"),  # as long as the text
    state("parameters", text="cat", n_heads="8", n_kv_heads="1"),
    state("parameters", **CHINESE, reveal="1,2"),
    state("scale", text="cat", draws="10", reveal="3"),
    state("scale", scale="none", draw_d_k="512", draws="30"),
    state("scale", scale="d_k", h="1", n_kv_heads="1", **HIDDEN),
    state("scale", text=TWO, b="1", s="4", positions="alibi"),
    state("scale", text=TWO, b="1", s="2", mask="causal", temperature="0.5"),
    state("scale", **CHINESE, positions="rotary", s="2"),
    state("softmax", training="false", mask="causal"),
    state("softmax", shift="1000", reveal="4"),
    state("softmax", shift="-1000", axis="s", training="false"),
    state("softmax", shift="-100", **HIDDEN, reveal="4,15"),
    state("softmax", text=TWO, b="1", s="4", axis="s", reveal="4,15"),
    state("softmax", dropout="0", h="1", n_kv_heads="1", reveal="15"),
    state("softmax", **CHINESE, axis="s", s="2", reveal="4,15"),
    state("value", value_is="k", mask="causal", positions="rotary"),
    state("value", value_is="x", h="3", n_heads="4", n_kv_heads="2"),
    state("value", value_is="i", text=TWO, b="1", mask="causal"),
    state("value", **CHINESE, value_is="x", reveal="8"),
    state("proof", s="3", u="1", reveal="24"),
    state("proof", s="2", u="4", mask="causal"),  # hidden already
    state("proof", s="0", u="0", mask="causal", reveal="24"),  # the only key
    state("proof", knocked="token", text=TWO, b="1", u="1"),
    state("proof", h="3", n_heads="4", n_kv_heads="2", s="1", positions="alibi"),
    state("proof", **CHINESE, knocked="token", u="2", reveal="24"),
    state("proof", text=" ".join(f"w{i}" for i in range(80)), s="70", from_s="10"),  # more keys than are drawn
    state("proof", text=" ".join(f"w{i}" for i in range(80)), knocked="token", from_s="10"),
]


@pytest.mark.parametrize(("lab", "query"), STATES)
def test_its_program_computes_the_numbers_on_screen(lab: Lab, query: dict[str, str]) -> None:
    check_program(opened(lab, **query))


@pytest.mark.parametrize("lab", [ABOUT_STEPS["scale"], ABOUT_STEPS["softmax"], ABOUT_STEPS["proof"]], ids=str)
def test_a_part_that_ran_alone_is_taken_home_as_it_stands(lab: Lab) -> None:
    key, value = {"scale": ("draw_d_k", 256), "softmax": ("axis", "s"), "": ("knocked", "token")}[lab.section]
    session = opened(lab)
    before = check_program(session)
    after = check_program(session.set(key, value))
    assert before.partition("# What the page computes")[2] != after.partition("# What the page computes")[2]


def test_what_is_given_is_a_piece_of_the_attention_not_its_numbers() -> None:
    for section in ("softmax", "value", "proof"):
        text = check_program(opened(ABOUT_STEPS[section], mask="causal"))
        assert text.count("torch.tensor([[") == 4, section  # X and three matrices


def test_sizes_and_costs_are_called_by_name() -> None:
    session = opened(ABOUT_STEPS["parameters"], length="7")
    text = check_program(session)
    assert "\ncosts_at_6 = compared(sizes, 6)\ncosts_at_7 = compared(sizes, 7)\n" in text
    assert 'print(*costs_at_7, sep="\\n")' in text
    assert {call.name for call in published(session).calls} >= {"sizes", "costs_at_6", "costs_at_7", "bytes_by_length"}

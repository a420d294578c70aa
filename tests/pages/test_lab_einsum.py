"""The einsum page says and draws what its lab computes, of any equation, and loses nothing of a bad one."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.core.einsum import element
from attnviz.core.einsum_parse import MESSAGES, EquationError
from attnviz.figures.colours import DARK, LIGHT
from attnviz.figures.map_places import plain
from attnviz.figures.text import MINUS, markdown, number
from attnviz.labs.equations import Problem, own_tensors, pose, result, source
from attnviz.ui.labs.einsum import OTHERS, STARTS
from attnviz.ui.labs.einsum_words import _of_equation
from tests.pages.session import Session

BATCH = {"text": "the cat sat on\nthe dog", "n_heads": "4", "n_kv_heads": "2", "d_v": "3"}
KEY = "maps-einsum"


def posed(session: Session) -> tuple[Problem, torch.Tensor]:
    """What the page ought to show, by the lab's own functions."""
    experiment, view = session.experiment, session.view
    run = experiment.run()
    assert run.trace is not None
    own = own_tensors(run.x, run.w_q, run.w_k, run.w_v, run.trace)
    problem = pose(view.lab.equation, view.lab.sizes, own, {"b": view.b, "h": view.h}, seed=experiment.seed)
    return problem, result(problem)


def html(session: Session) -> str:
    """The loop as it is drawn."""
    (found,) = session.html("<pre")
    return found


def codes(session: Session) -> list[str]:
    return [code.value for code in session.at.code]


def axis(session: Session, name: str, side: str) -> dict[str, Any]:
    """The axis of a map, as it was specified."""
    figure = session.charts()[KEY]
    (trace,) = [t for t in figure["data"] if t["name"] == name]
    found: dict[str, Any] = figure["layout"][f"{side}axis" + trace["xaxis"][1:]]
    return found


@pytest.mark.parametrize("start", [*STARTS, *OTHERS])
def test_one_click_starts_from_an_equation(start: str) -> None:
    session = Session("einsum", equation="i->i", **BATCH).set("start", start)
    assert session.sound() and session.said() == [] and session.view.lab.equation == start
    assert session.linked[1].lab.equation == start and session.widget("equation").value == start
    problem, found = posed(session)
    index = (0,) * found.ndim
    maps, tensors = session.maps(), dict(zip(problem.names, problem.operands, strict=True))
    assert set(maps) == {"result", *(f"operand{n}" for n in range(1, len(tensors) + 1))}
    for name, x in [("result", found), *((f"operand{n}", x) for n, x in enumerate(problem.operands, 1))]:
        drawn = x[(0,) * max(0, x.ndim - 2)]
        assert np.array_equal(maps[name], drawn.reshape((1,) * (2 - drawn.ndim) + drawn.shape).numpy())
    line = f"{problem.output} = torch.einsum('{start}', {', '.join(problem.names)})"
    assert line in codes(session)
    assert torch.equal(eval(line.partition(" = ")[2], {"torch": torch, **tensors}), found)  # noqa: S307  # our own
    assert plain(html(session)) == source(problem)
    terms = element(problem.equation, problem.operands, index)
    assert f"= {number(terms.total, 4)}" in session.words() and "difference from torch.einsum is" in session.words()


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        ("bsk,buk->bsu", ["in your equation `bsk,buk->bsu` that is **k**", "has 4 terms"]),
        ("bsk,buk->", ["these are **b**, **s**, **k**, **u**", "**out** has 144 terms"]),
        ("i,j->ij", ["`i,j->ij` none is", "is a single product"]),
        ("ix->i", ["that is **x**", "would look the same: choose another element"]),
        ("bsk,buk->bsz", ["Mend the equation below"]),
    ],
)
def test_the_reveal_is_computed_from_the_readers_equation(equation: str, said: list[str]) -> None:
    session = Session("einsum", reveal="20", equation=equation, sizes="x=1")
    assert session.sound()
    for words in said:
        assert words in session.words()
    if "Mend" in said[0]:
        return
    problem, found = posed(session)
    terms = element(problem.equation, problem.operands, (0,) * found.ndim)
    assert number(terms.total, 4) in session.words() and number(float(found.flatten()[0]), 4) in session.words()
    if problem.terms > 1:
        first, mean = number(float(terms.products[0]), 4), number(terms.total / problem.terms, 4)
        assert f"The first term alone would be {first}, the mean {mean}." in session.words()


def test_the_element_is_chosen_by_numbers_by_a_click_and_by_the_link() -> None:
    session = Session("einsum", equation="bhsk,bhuk->bhsu", **BATCH)
    session.set("index:h", 3).set("index:s", 2)
    assert session.view.lab.at == "1, 3, 2, 1"
    session.click("operand2", 3, 0)  # K has its keys in rows
    assert session.view.lab.at == "1, 3, 2, 4"
    session.click("result", 0, 2)
    assert session.view.lab.at == "1, 3, 1, 3" == session.linked[1].lab.at
    problem, found = posed(session)
    assert np.array_equal(session.maps()["operand1"], problem.operands[0][0, 2].numpy())
    assert np.array_equal(session.maps()["result"], found[0, 2].numpy())
    assert "at b=1, h=3" in str(session.charts()[KEY]["layout"]["annotations"])
    assert session.bridge["selected"] == {"name": "result", "row": 0, "col": 2}
    terms = element(problem.equation, problem.operands, (0, 2, 0, 2))
    (table,) = session.tables()
    assert list(table.iloc[:-1, -1]) == [number(v, 4) for v in terms.products.tolist()]
    assert table.iloc[-1, -1] == number(terms.total, 4)
    linked = Session("einsum", equation="bhsk,bhuk->bhsu", at="1, 3, 1, 3", **BATCH)
    assert linked.maps()["result"].tolist() == session.maps()["result"].tolist()
    session.set("equation", "bhsk,bhuk->bhus")  # another result: its own first element
    assert session.view.lab.at == ""


def test_the_first_element_is_the_one_chosen_elsewhere() -> None:
    session = Session("einsum", equation="bik,bjk->bij", b="1", h="3", s="1", u="1", **BATCH)
    problem, found = posed(session)
    assert session.bridge["selected"] == {"name": "result", "row": 1, "col": 1}
    assert f"**S**₂,₂,₂ = {number(float(found[1, 1, 1]), 4)}" in session.words()
    assert "of head 4" in session.words() and problem.own == ("Q", "K")
    assert session.bridge["tokens"] == ["the", "dog", "[pad]", "[pad]"]
    assert f"There is no element {markdown('7, 7')} here" in Session("einsum", at="7, 7").words()


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_letter_is_lit_in_formula_code_shapes_and_axes(theme: Any) -> None:
    session = Session("einsum", equation="bik,bjk->bij", theme=theme.name)
    hue = theme.letters["u"]
    assert rf"\textcolor{{{hue}}}{{j}}" in session.words() and f"<span style='color:{hue}'>j</span>" in html(session)
    assert axis(session, "result", "x")["title"]["text"].endswith(f"color:{hue}'>key token j</span>")
    session.set("letter", "j")
    assert session.linked[1].lab.lit == "j" and "names axis 2 of K" in session.words()
    assert rf"\textcolor{{{hue}}}{{\underline{{\mathbf{{j}}}}}}" in session.words()
    assert rf"\textcolor{{{theme.quiet}}}{{k}}" in session.words()
    lit = [line for line in html(session).split("\n") if "background:#" in line]
    assert len(lit) == 1 and "<b><u>j</u></b></span> in range(6)" in lit[0]
    title = axis(session, "result", "x")["title"]["text"]
    assert "<b><u>key token j</u></b>" in title and hue in title
    assert theme.quiet in axis(session, "result", "y")["title"]["text"]
    shapes = [note["text"] for note in session.charts()[KEY]["layout"]["annotations"]]
    assert ["<b><u>j</u></b>" in text for text in shapes] == [False, True, True]
    session.set("letter", None)
    assert session.view.lab.lit == "" and "<u>" not in html(session)


def test_letters_that_are_no_axis_of_the_readers_have_hues_and_hover_of_their_own() -> None:
    session = Session("einsum", equation="isk,ju->isj")
    spec = session.bridge
    assert spec["letters"]["=i"] == "i" and spec["letters"]["=j"] == "j"
    hues = [spec["hues"][key] for key in ("=i", "=j", "k")]
    assert len(set(hues)) == 3 and hues[2] == LIGHT.letters["k"] and LIGHT.letters["s"] not in hues
    rows = {panel["name"]: (panel["row"], panel["col"]) for panel in spec["charts"][0]["panels"]}
    assert rows["operand2"] == ("=j", "=u")  # drawn: no tokens stand along it
    assert axis(session, "operand2", "y")["title"]["text"].endswith(">j</span>")


def test_sizes_are_changed_and_restored_by_the_link() -> None:
    session = Session("einsum", equation="bik,bjk->bij").set("sizes", "i=2")
    assert session.maps()["result"].shape == (2, 6) and "Of `i` the first 2 of 6" in session.words()
    linked = session.linked[1].lab
    other = Session("einsum", equation=linked.equation, sizes=linked.sizes)
    assert np.array_equal(other.maps()["result"], session.maps()["result"])
    session.set("sizes", "i=9")
    assert session.maps()["result"].shape == (9, 6) and "random numbers, seed 0" in session.words()
    session.set("sizes", "i=9000, j=9000")
    assert "324,000,000 products" in session.said()[0] and session.charts() == {}
    session.press("smaller")
    assert session.said() == [] and session.widget("sizes").value == session.view.lab.sizes != "i=9000, j=9000"


BAD = {
    "bik,bjk->bi7": "The output “bi7” holds “7”",
    "bik,b.jk->bij": "Operand 2 “b\\.jk” has a dot by itself",
    "......ij->": "Operand 1 “\\.\\.\\.\\.\\.\\.ij” has `...` 2 times",
    "ij->i->j": "The equation has `->` 2 times",
    "ij->i,j": "The output “i,j” has a comma".replace(",", "\\,"),
    "bik,bjk->bix": "The output “bix” has the letter **x**, which no operand has",
    "bik,bjk->bii": "The output “bii” has the letter **i** 2 times",
    "bik,bjk-": "Operand 2 “bjk\\-” holds “\\-” by itself",
    "  ": "Type an equation",
}


@pytest.mark.parametrize("equation", BAD)
def test_a_bad_equation_is_named_and_nothing_is_lost(equation: str) -> None:
    session = Session("einsum", lit="k", at="1, 2, 3", sizes="z=4").set("equation", equation)
    assert session.sound() and len(session.said()) == 1 and BAD[equation] in session.said()[0]
    assert session.charts() == {} and not any("= torch.einsum('" in code for code in codes(session))
    lab = session.view.lab
    assert (lab.equation, lab.at, lab.sizes, lab.lit) == (equation, "1, 2, 3", "z=4", "k")
    assert session.widget("equation").value == equation == session.linked[1].lab.equation
    session.set("equation", "bsm,mk->bsk")
    assert session.said() == [] and session.view.lab.at == "1, 2, 3" and KEY in session.charts()


def test_every_fault_that_can_be_typed_is_worded() -> None:
    facts: dict[str, Any] = dict.fromkeys(("operand", "subscripts", "got", "letter", "expected", "equation"), 1)
    impossible = {"operands", "axes", "diagonal", "size", "unknown_axes"}  # shapes follow from the letters here
    for code in MESSAGES.keys() - impossible:
        assert "expected" not in _of_equation(EquationError(code, facts))


def test_many_terms_scroll_and_a_long_loop_is_checked_by_elements() -> None:
    session = Session("einsum", equation="ij->i", sizes="i=20, j=600")
    assert "12,000 steps, more than the 5,000" in session.words() and "The first 500 of 600 terms" in session.words()
    frame = session.at.dataframe[0].value
    assert len(frame) == 501
    _problem, found = posed(session)
    assert float(frame.iloc[-1, -1].replace(MINUS, "-")) == pytest.approx(float(found[0]), abs=1e-3)
    assert session.maps()["operand1"].shape == (20, 64) and "Of `j` the first 64 places" in session.words()


def test_numbers_that_overflow_and_hostile_links_break_nothing() -> None:
    session = Session("einsum", edits="x~0.0.0_1e30,0.1.0_-1e30", equation="bsk,buk->bsu", reveal="20")
    assert session.sound()
    for query in ({"lit": "💥"}, {"at": "9999999999999"}, {"equation": "i," * 80 + "i->i"}, {"sizes": "b=0"}):
        assert Session("einsum", **query).sound()
    assert "Of 81 operands the first 6 are drawn." in Session("einsum", equation="i," * 80 + "i->i").words()


def test_a_long_text_is_windowed_and_a_batch_too_large_refused() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    session = Session("einsum", text=text, equation="bsk,buk->bsu", from_s="30", s="40")
    _problem, found = posed(session)
    np.testing.assert_array_equal(session.maps()["result"], found[0, 30:54, :24].numpy())
    assert "24 queries and 24 keys at a time" in session.words() and "Added up from their terms" in session.words()
    refused = Session("einsum", text="w " * 512, d_k="64", equation="bsk,buk->bsu")
    assert "16,777,216 products" in refused.said()[0]
    assert refused.press("smaller").said() == [] and KEY in refused.charts()


def test_weights_have_their_letter_below_as_on_the_board_and_are_read_as_in_the_code() -> None:
    session = Session("einsum", equation="bsm,mk->bsk")
    (title,) = [
        note["text"] for note in session.charts()[KEY]["layout"]["annotations"] if note["text"].startswith("<b>W")
    ]
    assert title.startswith("<b>W<sub>Q</sub></b>") and "W_Q" not in title
    assert [p["symbol"] for p in session.bridge["charts"][0]["panels"]] == ["X", "W_Q", "Q"]

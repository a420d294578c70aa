"""Query, key, value: what the page says and draws is what the labs' functions return for the reader's tokens."""

from typing import Any

import numpy as np
import torch

from attnviz.core.counts import projection_parameters
from attnviz.experiment import Experiment
from attnviz.figures.panels import matrix
from attnviz.figures.text import number
from attnviz.labs import lookup, roles
from tests.figures.reading import array, z
from tests.pages.session import Session

TEXT = "the cat sat on the mat"
BATCH = {"text": "the cat sat on a mat\na cat", "n_heads": "4", "n_kv_heads": "2", "d_k": "3", "d_v": "5", "h": "3"}


def table(session: Session, name: str, n: int | None = None) -> torch.Tensor:
    view = session.view
    return matrix(session.experiment.run(), name, view.b, view.h)[:n]


def close(drawn: Any, tensor: torch.Tensor) -> bool:
    return np.allclose(drawn, tensor.numpy(), atol=1e-6)


# ---- 10: a look-up table ----


def test_the_look_up_follows_token_and_temperature() -> None:
    session = Session("roles", reveal="10")  # the first part stands open
    assert session.sound()
    session.set("lookup", 0.3).set("pick:s", 4)
    found, maps = lookup.look_up(5, 3, 0.3), session.maps()
    assert session.linked[1].lab.lookup == 0.3 and session.linked[1].s == 3
    drawn = {"query": found.query, "keys": found.keys, "values": found.values, "output": found.output}
    assert all(close(maps[name], tensor) for name, tensor in drawn.items())
    assert close(maps["weights"], found.weights.mT)
    words = session.words()
    weight, output = number(float(found.weights[0, 3]), 4), number(float(found.output), 4)
    assert f"the row of “on” gets the weight **{weight}**" in words and f"The output is **{output}**" in words
    cold, hot = (number(float(lookup.look_up(5, 3, t).output), 4) for t in (0.01, 100.0))
    assert cold == "4.0000" and f"At temperature 0.01 the output is {cold}, where the row holds 4" in words
    assert (
        f"At 100 it is {hot}, close to 3" in words and f"At your 0.3 it is {output}, with the weight {weight}" in words
    )


def test_the_curve_is_drawn_by_formula_and_by_torch() -> None:
    session = Session("roles", section="lookup", lookup="0.25")  # no step of the slider
    formula, by_torch, mean, now = (
        (array(t["x"]), array(t["y"])) for t in session.charts()["curve"]["data"] if t["type"] == "scatter"
    )
    assert np.allclose(formula[1], lookup.weights_by_formula(5, formula[0].tolist()))
    assert np.allclose(by_torch[1], lookup.weights_by_torch(5, by_torch[0].tolist()))
    assert mean[1].tolist() == [0.2, 0.2] and now[0].tolist() == [0.25]
    assert now[1][0] == lookup.weights_by_torch(5, [0.25])[0]
    assert session.widget("lookup").value == 0.25
    assert session.set("lookup", 1.0).sound() and session.view.lab.lookup == 1.0


def test_a_click_looks_a_row_up_and_a_row_with_the_mean_says_so() -> None:
    session = Session("roles", section="lookup")
    assert "holds the mean itself" not in session.words()
    session.click("keys", 2, 0)
    assert session.view.s == 2 and "holds the mean itself" in session.words()
    session.click("query", 0, 4)
    assert session.view.s == 5  # the fifth row is the sixth token: “the” is there twice, and has one row
    session.click("output", 0, 0)
    assert session.view.s == 5


def test_of_a_long_table_the_rows_round_the_chosen_one_are_drawn() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    session = Session("roles", section="lookup", text=text, s="50")
    assert session.maps()["keys"].shape == (24, 24) and session.maps()["values"][0, 0] == 37
    assert number(float(lookup.look_up(60, 50, 1.0).output), 4) in session.words()
    assert session.bridge["key_tokens"][0] == "w36"
    assert session.click("values", 0, 0).view.s == 36


# ---- 9: three tables ----


def test_one_x_and_three_tables() -> None:
    session = Session("roles", section="tables", reveal="9")
    maps, made = session.maps(), {name: table(session, name) for name in ("x", "query", "key", "value")}
    assert all(close(maps[name], tensor) for name, tensor in made.items())
    for name in ("key", "value"):
        assert number(roles.largest_difference(made["query"], made[name]) or 0.0, 4) in session.words()


def test_tables_of_other_widths_cannot_be_compared_and_padding_is_left_out() -> None:
    session = Session("roles", section="tables", reveal="9", b="1", **BATCH)
    assert session.sound() and "d_v = 5 columns where Q has d_k = 3" in session.words()
    shapes = {name: values.shape for name, values in session.maps().items()}
    assert shapes == {"x": (2, 8), "query": (2, 3), "key": (2, 3), "value": (2, 5)}


# ---- 5 and 25: who reads whom ----


def test_the_chosen_cell_and_its_mirror_are_named() -> None:
    session = Session("roles", section="order", reveal="5", letters="bij")
    made = roles.mirror(table(session, "query"), table(session, "key"))
    s, u = made.at
    assert "Take row 1 “the”₁, column 2 “cat” of S" in session.words() and (s, u) == (0, 1)
    assert session.bridge["selected"] == {"name": "scores", "row": s, "col": u}
    session.click("scores-t", 3, 2)  # row u = 4, column s = 3 of the transpose
    assert (session.view.s, session.view.u) == (2, 3) == (session.linked[1].s, session.linked[1].u)
    maps = session.maps()
    assert close(maps["scores"], made.scores) and close(maps["scores-t"], made.scores.mT)
    one, other = number(float(made.scores[2, 3]), 4), number(float(made.scores[3, 2]), 4)
    assert f"S_ij = **{one}** is the query of “sat” times the key of “on”" in session.words()
    assert f"S_ji = **{other}** is the query of “on” times the key of “sat”" in session.words()
    session.set("pick:u", 6)
    assert session.view.u == 5 and "“sat” reads “mat”" in session.words()


def test_the_same_word_twice_and_a_single_token() -> None:
    session = Session("roles", section="order", reveal="5,25", s="0", u="4")
    assert "the two are one word" in session.words()
    session = Session("roles", section="order", reveal="5,25", text="a a a")
    assert "row 1 and column 2" in session.words()
    session = Session("roles", section="order", reveal="5,25", text="a")
    assert session.sound() and "One token has one cell and no mirror" in session.words()


def test_rows_whose_diagonal_is_largest_are_counted() -> None:
    session = Session("roles", section="order", reveal="25", seed="3")
    query, key, x = (table(session, name) for name in ("query", "key", "x"))
    scores, own = roles.diagonal(query, key), roles.diagonal(x, x)
    assert close(session.maps()["gram"], x @ x.mT)
    assert f"the largest in **{int(scores.wins.sum())}** of your 6 rows" in session.words()
    assert f"there it is **{int(own.wins.sum())}** of 6" in session.words()
    s = int((~scores.wins).nonzero()[0])
    assert f"{number(float(scores.rival[s]), 4)} and itself {number(float(scores.own[s]), 4)}" in session.words()


# ---- 6 and 7: two matrices ----


def test_tied_matrices_make_the_map_symmetric() -> None:
    session = Session("roles", section="matrices", reveal="6")
    query, key = table(session, "query"), table(session, "key")
    free, tied, own = roles.mirror(query, key), roles.mirror(query, query), roles.diagonal(query, query)
    assert close(session.maps()["difference"], free.difference)
    session.set("tied", True)
    assert session.linked[1].lab.tied
    assert close(session.maps()["scores"], tied.scores) and close(session.maps()["difference"], tied.difference)
    words = session.words()
    assert (
        f"by no more than rounding, {tied.most:.1g}, where with your two matrices it is {number(free.most, 4)}" in words
    )
    assert f"the largest in {int(own.wins.sum())} of your 6 rows" in words
    s = int((~own.wins).nonzero()[0])
    assert f"“sat” gives itself {number(float(own.own[s]), 4)}" in words and number(float(own.rival[s]), 4) in words
    mine, rival = (array(trace["y"]) for trace in session.charts()["rows-tied"]["data"])
    assert np.allclose(mine, own.own) and np.allclose(rival, own.rival)


def test_the_product_its_rank_and_its_numbers() -> None:
    session = Session("roles", section="matrices", reveal="7").set("try:d_k", 3)
    assert session.experiment.d_k == 3 == session.linked[0].d_k
    made = roles.product(*(table(session, name) for name in ("x", "w_q", "w_k")))
    assert close(session.maps()["product"], made.product) and close(session.maps()["w_k"], table(session, "w_k").mT)
    words = session.words()
    assert f"{made.most:.1g} at most" in words and "2 × 8 × 3 = **48** numbers, one matrix 8 × 8 = **64**" in words
    assert "3 of the 8 singular values are not 0" in words
    assert f"{2 * projection_parameters(512, 1, 64):,} against {projection_parameters(512, 1, 512):,}" in words
    (bars,) = session.charts()["singular"]["data"]
    assert np.allclose(array(bars["y"]), made.singular)
    session.widget("try:d_k").set_value(None)
    session.at.run()
    assert session.sound() and session.experiment.d_k == 3 == session.widget("try:d_k").value


def test_a_large_product_is_its_singular_values_alone() -> None:
    session = Session("roles", section="matrices", reveal="6,7", d_model="64", d_k="16", text="a " * 70, from_s="40")
    assert session.sound() and "product" not in session.maps()
    assert len(array(session.charts()["singular"]["data"][0]["y"])) == 64
    assert "16 of the 64 singular values are not 0" in session.words()
    assert z(session.charts()["maps-tied"], "scores").shape == (24, 24)


def test_typed_keys_stand_in_the_scores_of_both_parts() -> None:
    cells = {"edits": "k~0.1.0_5"}
    query, key = (matrix(Experiment(TEXT, k=(((0, 1, 0), 5.0),)).run(), name, 0, 0) for name in ("query", "key"))
    for section in ("order", "matrices"):
        assert close(Session("roles", section=section, **cells).maps()["scores"], query @ key.mT)

"""The page on one's own tensors: files, what they hold, their maps, and what is wrong with them."""

import math
import pickle
import time
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnviz.core.attention import attention
from attnviz.limits import TOKENS
from attnviz.models.files_examples import EXAMPLES, example
from attnviz.models.files_examples import TOKENS as WORDS
from attnviz.ui import home
from attnviz.ui.tensors import diagnosed, held, waiting
from tests.pages.session import Session
from tests.pages.tensors import Bringing, npz

GENERATOR = torch.Generator().manual_seed(1)


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR).float()


Q, K, V = drawn(2, 2, 5, 4), drawn(2, 2, 5, 4), drawn(2, 2, 5, 4)
RIGHT = attention(Q, K, V)
UNSCALED = attention(Q, K, V, scale=1.0)


def layer(trace: Any, **more: Any) -> bytes:
    return npz(q=Q, k=K, v=V, weights=trace.weights, output=trace.output, **more)


SAYS = {
    "right": ("**Correct**", "**正确**"),
    "scale": ("**The scale is missing**", "**缺少缩放**"),
    "axis": ("**The softmax runs over the queries**", "**softmax 沿 query 计算**"),
    "swapped": ("**Key and value are swapped**", "**key 和 value 对调了**"),
    "late": ("**The causal mask is one off**", "**因果掩码差一位**"),
    "sigmoid": ("**Nothing on the list explains the weights**", "**清单上没有什么能解释权重**"),
    "maps": ("**The weights show no mistake**", "**权重看不出错误**"),
}


def test_every_example_has_its_words() -> None:
    assert set(SAYS) == set(EXAMPLES)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_is_drawn_and_named_in_both_languages(code: str, lang: str) -> None:
    session = Bringing(example=code, lang=lang)
    assert session.sound()
    assert SAYS[code][lang == "zh"] in session.words()
    weights = next(each.tensor for each in example(code).arrays if each.role == "weights").numpy()
    assert np.array_equal(session.maps()["theirs"], weights[0, 0, 0] if code == "maps" else weights[0, 0])
    assert session.linked[1].lab.example == code


def test_an_example_is_a_click_away_and_shows_the_line_to_mend() -> None:
    session = Bringing()
    assert session.sound() and not session.charts()
    session.press("example:scale")
    assert session.code() == ["scaled = scores", "scaled = scores / math.sqrt(d_k)"]
    maps = session.maps()
    assert np.allclose(maps["difference"], maps["theirs"] - maps["ours"], atol=1e-7)
    assert np.allclose(maps["rows of theirs"].flatten(), 1, atol=1e-6)
    assert "the scaled scores" in session.words()


def test_a_file_is_dropped_and_its_mistake_named() -> None:
    session = Bringing().drop(("mine.npz", layer(UNSCALED, tokens=list("abcde"))))
    assert session.sound()
    assert "**The scale is missing**" in session.words() and "**mine\\.npz**" in session.words()
    assert np.array_equal(session.maps()["theirs"], UNSCALED.weights[0, 0].numpy())
    assert np.allclose(session.maps()["ours"], RIGHT.weights[0, 0].numpy(), atol=1e-6)
    session.set("number:head", 2).set("number:sample", 2)
    assert np.array_equal(session.maps()["theirs"], UNSCALED.weights[1, 1].numpy())
    assert (session.linked[1].lab.brought, session.linked[1].lab.head, session.linked[1].lab.sample) == (True, 1, 1)


def test_the_same_file_is_right_where_the_scale_was_meant() -> None:
    session = Bringing(given_scale="1").drop(("mine.npz", layer(UNSCALED)))
    assert "**Correct**" in session.words()


HIDDEN = torch.ones(5, 5, dtype=torch.bool).tril()
CAUSAL = attention(Q, K, V, mask=HIDDEN)
LATE = attention(Q, K, V, mask=torch.ones(5, 5, dtype=torch.bool).tril(1))
TAKEN = "so a causal mask is taken as meant"


def test_the_mask_that_was_meant_can_be_chosen() -> None:
    session = Bringing().drop(("mine.npz", layer(CAUSAL, mask=HIDDEN)))
    assert "**Correct**" in session.words() and TAKEN not in session.words()
    session.open("meant").set("given_mask", "none")
    assert "**A causal mask too much**" in session.words()
    session.press("remove:0").drop(("mine.npz", layer(RIGHT)))
    session.open("meant").set("given_mask", "causal")
    assert "**The mask is missing**" in session.words()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_causal_layer_without_its_mask_is_right_and_the_mask_said(lang: str) -> None:
    session = Bringing(lang=lang).drop(("mine.npz", layer(CAUSAL)))
    said = (TAKEN, "因果掩码是本意")[lang == "zh"]
    assert session.sound() and SAYS["right"][lang == "zh"] in session.words() and said in session.words()
    assert np.allclose(session.maps()["ours"], CAUSAL.weights[0, 0].numpy(), atol=1e-6)
    none = Bringing(lang=lang, given_mask="none").drop(("mine.npz", layer(CAUSAL)))
    assert SAYS["right"][lang == "zh"] not in none.words() and said not in none.words()


def test_a_causal_mask_one_off_is_named_without_a_mask_too() -> None:
    session = Bringing().drop(("late.npz", layer(LATE)))
    assert "**The causal mask is one off**" in session.words() and TAKEN in session.words()


def test_a_causal_output_alone_is_right_without_its_mask() -> None:
    session = Bringing().drop(("out.npz", npz(q=Q, k=K, v=V, output=CAUSAL.output)))
    assert "**Correct**" in session.words() and TAKEN in session.words()
    session.press("remove:0").drop(("out.npz", npz(q=Q, k=K, v=V, output=RIGHT.output)))
    assert "**Correct**" in session.words() and TAKEN not in session.words()


@pytest.mark.parametrize("name", ["wrong.npz", "mended.npz"])
def test_the_newest_file_is_what_is_looked_at(name: str) -> None:
    session = Bringing().drop(("wrong.npz", layer(UNSCALED)))
    assert "**The scale is missing**" in session.words()
    session.drop((name, layer(RIGHT)))
    assert session.sound() and "**Correct**" in session.words()
    assert np.array_equal(session.maps()["theirs"], RIGHT.weights[0, 0].numpy())
    names = [file.name for file in session.at.session_state["_tensor_files"]]
    assert names == list(dict.fromkeys(["wrong.npz", name]))


def test_a_choice_of_an_older_file_ends_when_a_newer_comes() -> None:
    session = Bringing().drop(("one.npz", layer(UNSCALED)), ("two.npz", layer(RIGHT)))
    assert "**Correct**" in session.words()
    session.set("role:weights", "one.npz: weights").set("role:output", "one.npz: output")
    assert "**The scale is missing**" in session.words()
    session.drop(("tokens.json", b'["a", "b", "c", "d", "e"]'))
    assert "**The scale is missing**" in session.words()  # tokens take no array's place
    session.drop(("three.npz", layer(CAUSAL)))
    assert "**Correct**" in session.words()
    assert np.array_equal(session.maps()["theirs"], CAUSAL.weights[0, 0].numpy())


def test_what_a_newer_file_lacks_comes_from_an_older_one_where_it_fits() -> None:
    session = Bringing().drop(
        ("all.npz", layer(UNSCALED)), ("out.npz", npz(weights=RIGHT.weights, output=RIGHT.output))
    )
    assert "**Correct**" in session.words()
    other = torch.softmax(drawn(2, 2, 7, 7), dim=-1)
    session.drop(("other.npz", npz(weights=other)))
    assert "**The weights show no mistake**" in session.words()
    assert np.array_equal(session.maps()["theirs"], other[0, 0].numpy())


@pytest.mark.parametrize("data", [b'["a", "b", "c", "d", "e"]', b'{"tokens": ["a", "b", "c", "d", "e"]}'])
def test_tokens_can_come_in_a_file_of_their_own(data: bytes) -> None:
    session = Bringing().drop(("tokens.json", data))
    assert session.sound() and "There are tokens and no arrays yet" in session.words()
    assert "**tokens\\.json** · 5 tokens" in session.words()
    session.drop(("mine.npz", layer(RIGHT)))
    assert "**Correct**" in session.words() and "“a” gives" in session.words()


def test_tokens_of_an_older_file_that_do_not_fit_are_left() -> None:
    session = Bringing().drop(("old.npz", npz(weights=torch.full((1, 1, 3, 3), 1 / 3), tokens=list("xyz"))))
    session.drop(("mine.npz", layer(RIGHT, tokens=list("abcde"))), ("t.json", b'["one", "two"]'))
    assert "“a” gives" in session.words() and "There are 2 tokens" not in session.words()


def test_the_head_with_the_numbers_that_are_none_is_opened() -> None:
    weights = RIGHT.weights.clone()
    weights[1, 1, 2] = math.nan
    session = Bringing().drop(("nan.npz", npz(q=Q, k=K, v=V, weights=weights)))
    assert session.sound() and np.isnan(session.maps()["theirs"][2]).all()
    assert (session.view.lab.sample, session.view.lab.head) == (1, 1)
    assert "1 head holds NaN and has no tile" in session.words() and "Highest: layer 1, head 1" in session.words()
    assert [*session.maps()["statistic"].shape] == [1, 2] and np.isnan(session.maps()["statistic"][0, 1])
    session.set("number:head", 1)
    assert session.view.lab.head == 0


def test_where_every_head_holds_nan_there_are_no_tiles() -> None:
    session = Bringing().drop(("nan.npz", npz(weights=RIGHT.weights * math.nan)))
    assert session.sound() and "are not drawn as tiles" in session.words()


def test_what_is_taken_home_and_the_cell_below_are_said_to_be_as_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    titles: list[str] = []
    monkeypatch.setattr(home, "_offer", lambda _words, taken, *_more: titles.append(taken.about.title))
    session = Bringing(example="scale").open("home")
    assert set(titles) == {f"attnviz · {' '.join(WORDS)} · as it should be, computed from your q, k, v"}
    assert "What is taken home: as it should be, computed from your q, k, v." in session.words()
    assert "**As it should be**: " in session.words()


def test_a_role_can_be_corrected() -> None:
    session = Bringing().drop(("mine.npz", npz(q=Q, k=V, v=K, weights=RIGHT.weights, output=RIGHT.output)))
    assert "**Key and value are swapped**" in session.words()
    session.set("role:key", "v").set("role:value", "k")
    assert "**Correct**" in session.words()
    session.set("role:weights", "").set("role:output", "")
    assert "There are no weights and no output to compare" in session.words()
    assert np.allclose(session.maps()["ours"], RIGHT.weights[0, 0].numpy(), atol=1e-6)


def test_several_files_are_read_together_and_removed_one_by_one() -> None:
    session = Bringing().drop(("in.npz", npz(q=Q, k=K, v=V)), ("out.npz", npz(weights=UNSCALED.weights)))
    assert "**The scale is missing**" in session.words()
    session.press("remove:1")
    assert "There are no weights" in session.words()
    session.press("remove:0")
    assert session.sound() and not session.charts() and not session.linked[1].lab.brought


def test_three_axes_are_heads_until_the_reader_says_otherwise() -> None:
    maps = torch.softmax(drawn(3, 4, 4), dim=-1)
    session = Bringing().drop(("maps.npy", _npy(maps)))
    assert "heads 3," in session.words()
    session.set("way", "l")
    assert "layers 3," in session.words() and session.linked[1].lab.axes == "l"
    session.set("number:layer", 3)
    assert np.array_equal(session.maps()["theirs"], maps[2].numpy())


def _npy(x: Tensor) -> bytes:
    import io

    file = io.BytesIO()
    np.save(file, x.numpy())
    return file.getvalue()


def test_tokens_can_be_typed_and_a_number_that_does_not_fit_is_said() -> None:
    session = Bringing(example="maps").set("labels", "a b c d e f")
    assert "“a” gives" in session.words()
    session.set("labels", "a b")
    assert "There are 2 tokens for 6 queries and 6 keys" in session.words()
    assert session.linked[1].lab.labels == "a b"
    session.set("labels", "")
    assert f"“{WORDS[0]}” gives" in session.words()


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit",))


BAD = {
    "cut.npz": (layer(RIGHT)[:200], "breaks off or is mixed up"),
    "code.pt": (pickle.dumps(Bomb()), "is a Python pickle"),
    "mine.txt": (b"1 2", "is of no kind that is read here"),
    "other.npy": (layer(RIGHT), "is not what its name says"),
    "none.json": (b"", "is empty"),
    "rows.csv": (b"1,2\n3", "has rows of different lengths"),
    "words.csv": (b"1,2\n3,four\n", "line 2 holds “four”"),
    "flat.npy": (_npy(drawn(4)), "holds no array of 2 to 5 axes, only \\(4\\,\\)"),
    "numbers.json": (b'{"a": 1}', "holds neither arrays nor tokens"),
}


@pytest.mark.parametrize("file", BAD)
def test_a_bad_file_is_one_sentence_and_the_session_lives(file: str) -> None:
    data, words = BAD[file]
    session = Bringing(example="scale").drop((file, data))
    assert session.sound()
    (said,) = [each for each in session.said() if words in each]
    assert file.replace(".", "\\.") in said
    assert "**The scale is missing**" in session.words()  # what was there is there
    session.drop(("mine.npz", layer(RIGHT)))
    assert "**Correct**" in session.words() and words not in session.words()


def test_numbers_that_cannot_be_computed_with_are_said() -> None:
    session = Bringing().drop(("mine.npz", npz(q=Q * math.nan, k=K, weights=RIGHT.weights)))
    assert session.sound() and "query Q holds NaN or infinite numbers, 80 of them" in session.words()
    session.press("remove:0").drop(("w.npz", npz(weights=-RIGHT.weights)))
    assert session.sound() and "**Negative weights**" in session.words()


def test_names_and_tokens_are_data() -> None:
    name, tokens = "*a* $x$ :red[b]</s>", ["<b>x", "$y$", ":red[z]", "</s>", "*"]
    session = Bringing().drop((f"{name}.npz", npz(**{name: drawn(3, 3), "attn": RIGHT.weights}, tokens=tokens)))
    assert session.sound()
    assert "$x$" not in session.words() and ":red[" not in session.words() and "<b>x" not in session.words()


def test_a_link_without_its_file_says_what_to_do() -> None:
    session = Bringing(brought="1", head="1", lang="zh")
    assert session.sound() and "链接不带文件" in session.words()


def test_a_file_is_shown_as_its_link_has_it_and_the_next_one_anew() -> None:
    linked = {"layer": "0", "head": "1", "sample": "1", "labels": "a b c d e", "axes": "bh"}
    session = Bringing(brought="1", **linked).drop(("mine.npz", layer(UNSCALED)))
    assert session.sound()
    lab = session.linked[1].lab
    assert (lab.brought, lab.head, lab.sample, lab.labels, lab.axes) == (True, 1, 1, "a b c d e", "bh")
    np.testing.assert_array_equal(session.maps()["theirs"], UNSCALED.weights[1, 1].numpy())
    session.drop(("mine.npz", layer(RIGHT)))
    lab = session.linked[1].lab
    assert (lab.head, lab.sample, lab.labels, lab.axes) == (0, 0, "", "auto")


def test_a_head_of_a_link_that_its_file_lacks_is_said() -> None:
    session = Bringing(brought="1", head="9").drop(("mine.npz", layer(RIGHT)))
    assert session.said() == [
        "The link asks for head = 9, which is not here: head = 1 is shown. A link counts from 0, the page from 1."
    ]


def test_a_weight_that_is_no_number_is_opened_unless_a_link_has_another_head() -> None:
    weights = RIGHT.weights.clone()
    weights[1, 0, 2, 2] = math.nan
    file = ("odd.npz", npz(weights=weights))
    lab = Bringing().drop(file).view.lab
    assert (lab.sample, lab.head) == (1, 0)
    session = Bringing(brought="1", head="1").drop(file)
    assert (session.view.lab.sample, session.view.lab.head) == (0, 1)
    session.set("number:head", 1)
    assert (session.view.lab.sample, session.view.lab.head) == (0, 0)


def test_what_is_held_survives_another_page_and_is_nobody_elses() -> None:
    session = Bringing().drop(("mine.npz", layer(UNSCALED)))
    session.go("explore").go("tensors")
    assert "**The scale is missing**" in session.rest().words()
    assert not Bringing().charts()


def test_a_long_map_is_pooled() -> None:
    n = TOKENS + 8
    weights = torch.softmax(drawn(n, n) * 3, dim=-1)
    session = Bringing().drop(("long.npz", npz(weights=weights)))
    assert session.sound() and "**The weights show no mistake**" in session.words()
    assert "theirs" not in session.maps() and "maps-long" in session.charts()


def test_more_queries_than_keys_have_maps_and_no_board() -> None:
    trace = attention(Q, K[:, :, :3], V[:, :, :3])
    session = Bringing().drop(("x.npz", npz(q=Q, k=K[:, :, :3], v=V[:, :, :3], attn=trace.weights, out=trace.output)))
    assert session.sound() and "**Correct**" in session.words()
    assert "scores" not in session.maps() and "difference" not in session.maps()
    assert "They differ by rounding alone" in session.words()


def test_a_click_on_a_map_chooses_its_cell() -> None:
    session = Bringing(example="maps").click("theirs", 3, 2)
    assert (session.view.s, session.view.u) == (3, 2)
    beside_the_board = Bringing(example="scale").click("theirs", 4, 1)
    assert (beside_the_board.view.s, beside_the_board.view.u) == (4, 1) and beside_the_board.sound()
    session.click("tiles", 1, 1)
    assert (session.view.lab.layer, session.view.lab.head) == (0, 0)


def test_causes_that_no_number_tells_apart_and_two_at_once_are_named() -> None:
    session = Bringing().drop(("mine.npz", layer(attention(Q, K, V, scale=1 / 4))))
    assert "**Scaled by d\\_k**" in session.words() or "**Scaled by d_k**" in session.words()
    assert "nothing tells them apart" in session.words() and "**Scaled twice**" in session.words()
    session.press("remove:0").drop(("two.npz", layer(UNSCALED, mask=torch.ones(5, 5, dtype=torch.bool).tril())))
    boxes = [each for each in session.said() if "with this mistake made on purpose" in each]
    assert [each[:3] for each in boxes] == ["1. ", "2. "]
    assert "**The scale is missing**" in boxes[0] and "**The mask is missing**" in boxes[1]


def test_layers_that_stand_one_by_one_in_a_file_are_read_together() -> None:
    layers = [torch.softmax(drawn(3, 4, 4), dim=-1) for _ in range(4)]
    session = Bringing().drop(("all.npz", npz(**{f"attn_{i}": layer_ for i, layer_ in enumerate(layers)})))
    assert "layers 4, sequences 1, heads 3," in session.words()
    session.set("number:layer", 4).set("number:head", 2)
    assert np.array_equal(session.maps()["theirs"], layers[3][1].numpy())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("FILES_HELD", 1, "one file too many, at most 1 are held"),
        ("FILES_BYTES", 2000, "of numbers in all: remove a file below first"),
        ("free_memory", lambda: 100, "does not fit into the memory that is free here"),
    ],
)
def test_more_than_is_held_is_refused_and_the_first_stays(
    monkeypatch: pytest.MonkeyPatch, name: str, value: Any, words: str
) -> None:
    session = Bringing().drop(("first.npz", npz(weights=RIGHT.weights)))
    monkeypatch.setattr(held, name, value)
    session.drop(("second.npz", layer(RIGHT)))
    assert session.sound() and words in session.words()
    assert "**first\\.npz**" in session.words() and "**second\\.npz**" not in session.words()


def test_a_diagnosis_that_takes_long_can_be_stopped_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_given: Any, progress: Any, **_more: Any) -> None:
        for n in range(10_000):
            progress(n)
            time.sleep(0.01)

    monkeypatch.setattr(waiting, "MOMENT", 0.05)
    with monkeypatch.context() as slow:
        slow.setattr(diagnosed, "diagnose", endless)
        session = Session("tensors", example="scale")
        assert session.sound() and "Mistakes are made on purpose" in session.words()
        assert "theirs" in session.maps()  # the maps do not wait
        session.press("stop:_job_diagnosis")
        deadline = time.monotonic() + 20
        while "This was stopped" not in session.words() and time.monotonic() < deadline:
            session.at.run()
    session.press("again:diagnosis")
    while "⏳" in session.words() and time.monotonic() < deadline:
        session.at.run()
    assert "**The scale is missing**" in session.words()


def test_rows_that_are_nan_have_no_distance_and_are_explained() -> None:
    hidden = torch.ones(5, 5, dtype=torch.bool).tril() & (torch.arange(5) > 0)
    scores = (Q @ K.mT / 2).masked_fill(~hidden, -math.inf)
    session = Bringing().drop(("nan.npz", npz(q=Q, k=K, mask=hidden, weights=torch.softmax(scores, dim=-1))))
    assert session.sound() and "**Wholly masked rows are NaN**" in session.words()
    assert "made on purpose, your numbers differ by" in session.words() and "∞ of the largest" not in session.words()
    assert session.code()[1].endswith(".nan_to_num(0.0)")

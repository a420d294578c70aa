"""The numbers of a view as files that other programs read."""

import io

import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load

from attnviz import long
from attnviz.experiment import Experiment, View
from attnviz.export.program import About
from attnviz.export.tensors import csv, safetensors
from attnviz.run import without_trace

ABOUT = About("the title", "http://localhost/?text=x", "1.2.3")


def test_every_tensor_of_the_run_is_in_the_file(tmp_path) -> None:
    run = Experiment("the cat sat", n_heads=4, n_kv_heads=2, mask="causal", positions="rope_half").run()
    assert run.trace is not None
    data = safetensors(ABOUT, run)
    found = load(data)
    expected = run.trace._asdict() | {"x": run.x, "w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v, "mask": run.mask}
    assert sorted(found) == sorted(expected)
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    path = tmp_path / "trace.safetensors"
    path.write_bytes(data)
    with safe_open(path, "pt") as file:
        assert file.metadata() == {"title": "the title", "link": "http://localhost/?text=x", "version": "attnviz 1.2.3"}


def test_a_table_is_read_again_digit_by_digit(tmp_path) -> None:
    values = Experiment("the cat sat").run().x[0].numpy()
    table = pd.DataFrame(values, index=["1 the", "2 cat,", '3 "'], columns=[f"m={i}" for i in range(8)])
    path = tmp_path / "x.csv"
    path.write_text(csv(ABOUT, table), encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines()[:3] == ["# the title", f"# {ABOUT.link}", "# attnviz 1.2.3"]
    again = pd.read_csv(path, skiprows=3, index_col=0, dtype=dict.fromkeys(table.columns, "float32"))
    assert (again.to_numpy() == values).all()
    assert list(again.index) == list(table.index)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_a_spreadsheet_takes_no_name_for_a_formula(name: str) -> None:
    text = csv(ABOUT, pd.DataFrame([[1.0]], index=[name], columns=[name]))
    assert text.splitlines()[3].lstrip(',"').startswith("'")
    assert text.splitlines()[4].lstrip('"').startswith("'")


def test_without_a_trace_it_says_so() -> None:
    with pytest.raises(ValueError, match=r"run\.trace must be a trace, not None"):
        safetensors(ABOUT, Experiment("a").run()._replace(trace=None))


def test_of_a_long_text_the_vectors_are_whole_and_the_rows_those_on_screen(tmp_path) -> None:
    text = "\n".join([" ".join(f"w{i * 7 % 97}" for i in range(600)), " ".join(["x"] * 550)])
    experiment = Experiment(text, n_heads=4, n_kv_heads=2, mask="causal", positions="rope_half", v=(((1, 2, 5), 2.5),))
    run = long.of(without_trace(experiment), experiment, 1, 2)
    data = safetensors(ABOUT, run, View(b=1, h=2, from_s=540))
    found, whole = load(data), experiment.run()
    trace, rows = whole.trace, slice(540, 564)
    assert trace is not None and whole.mask is not None
    expected = {
        "x": whole.x[1],
        "w_q": whole.w_q[:, 8:12],
        "w_k": whole.w_k[:, 4:8],
        "w_v": whole.w_v[:, 4:8],
        "query": trace.query[1, 2],
        "key": trace.key[1, 1],
        "value": trace.value[1, 1],
        "mask": whole.mask[1, 0, rows],
        "scores": trace.scores[1, 2, rows],
        "scaled": trace.scaled[1, 2, rows],
        "masked": trace.masked[1, 2, rows],
        "weights": trace.weights[1, 2, rows],
        "output": trace.output[1, 2, rows],
    }
    assert sorted(found) == sorted(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-5, atol=1e-6)
    path = tmp_path / "rows.safetensors"
    path.write_bytes(data)
    with safe_open(path, "pt") as file:
        places = {"sequence": "2", "head": "3", "first_query_token": "541", "last_query_token": "564"}
        assert file.metadata() == {"title": ABOUT.title, "link": ABOUT.link, "version": "attnviz 1.2.3"} | places


def test_a_long_text_without_a_mask_has_none_in_the_file() -> None:
    experiment = Experiment("a " * 600)
    found = load(safetensors(ABOUT, long.of(without_trace(experiment), experiment, 0, 0)))  # of no view: the first rows
    assert "mask" not in found and found["weights"].shape == (24, 600)


def test_a_number_is_no_formula_and_stays_one() -> None:
    table = pd.DataFrame([[1.0], [2.0]], index=[-3, 4.5])
    read = pd.read_csv(io.StringIO(csv(About("t", "", "1"), table)), skiprows=3, index_col=0)
    assert read.index.tolist() == [-3, 4.5]

"""The numbers of a view as files that other programs read."""

import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load

from attnviz.experiment import Experiment
from attnviz.export.program import About
from attnviz.export.tensors import csv, safetensors

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

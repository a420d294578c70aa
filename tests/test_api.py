"""`import attnviz` offers the public names and loads what a name needs only when it is used."""

import subprocess
import sys

import pytest

import attnviz


def loaded(code: str) -> set[str]:
    """The packages that a fresh interpreter has loaded after `code`."""
    code += "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_a_link_is_read_and_written_before_torch_is_loaded() -> None:
    read = "import attnviz; e, v = attnviz.from_query('text=a+b&edits=x~0.0.0_1'); e.fitting()"
    read += "; attnviz.to_query(e, v)"
    assert not loaded(read) & {"torch", "plotly", "streamlit", "pandas", "numpy"}
    assert "torch" in loaded(read + "; e.run()")


def test_links_and_experiment_can_be_imported_in_either_order() -> None:
    names = "from_query, read_query, to_query"
    loaded(f"from attnviz.links import {names}; from attnviz.experiment import {names}")
    loaded(f"from attnviz.experiment import {names}, Run; import attnviz.links")
    loaded("import attnviz.run; import attnviz.presets")


@pytest.mark.parametrize("name", sorted(set(attnviz.__all__) - {"board"}))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(attnviz, name) is getattr(attnviz, name)
    assert name in dir(attnviz)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'bored'"):
        attnviz.bored  # noqa: B018
    assert not hasattr(attnviz.experiment, "bored")

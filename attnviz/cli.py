"""The command `attnviz`: starts the app, which an installed attnviz carries inside.

attnviz                          opens it in the browser of this machine
attnviz --port 9000              on another port
attnviz --address 0.0.0.0        for other machines, too: a lecture hall
attnviz --server.headless true   any other option of `streamlit run`
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from attnviz import __version__

PACKED = "_app"  # the folder, inside the installed package, of app.py, pages/ and .streamlit/ (see setup.py)
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


def app() -> Path:
    """Return app.py: the one inside the installed package, else that of the checkout.

    Raises FileNotFoundError where there is neither.
    """
    here = Path(__file__).parent
    for place in (here / PACKED / "app.py", here.parent / "app.py"):
        if place.is_file():
            return place
    raise FileNotFoundError(f"attnviz was installed without its app: no app.py in {here / PACKED}")


def options(given: Sequence[str]) -> list[str]:
    """Return what `streamlit run` is given for the arguments of `attnviz`.

    Streamlit finds the theme and the limits in .streamlit/ beside app.py. On an address of this machine alone, only
    names of this machine are answered, so that no foreign page reaches the app by a name that it points here.

    >>> options(["--port", "9000"])[:2]
    ['--server.port', '9000']
    """
    parser = argparse.ArgumentParser(
        "attnviz", description="Type tokens and see self-attention happen.", add_help=False
    )
    parser.add_argument(
        "--port",
        type=_port,
        metavar="PORT",
        help="the port to answer on (8501, or the next that is free)",
    )
    parser.add_argument("--address", help="the address to answer on (127.0.0.1, this machine alone; 0.0.0.0 for all)")
    parser.add_argument("--headless", action="store_true", help="open no browser")
    parser.add_argument("--version", action="version", version=f"attnviz {__version__}")
    parser.add_argument("-h", "--help", action="help", help="this; any option of `streamlit run` is taken as well")
    known, others = parser.parse_known_args(given)
    taken: list[str] = []
    taken += ["--server.port", str(known.port)] if known.port is not None else []
    taken += ["--server.address", known.address] if known.address else []
    taken += ["--server.headless", "true"] if known.headless else []
    elsewhere = known.address is not None and known.address not in LOOPBACK
    elsewhere |= any(one.startswith(("--server.address", "--server.allowedHosts")) for one in others)
    elsewhere |= any(f"STREAMLIT_SERVER_{name}" in os.environ for name in ("ADDRESS", "ALLOWED_HOSTS"))
    if not elsewhere:
        taken += [each for name in LOOPBACK[:3] for each in ("--server.allowedHosts", name)]
    return [*taken, *others]


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65_536:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, got {text}")
    return port


def main(given: Sequence[str] | None = None) -> None:
    """Start the app, and return when it has ended."""
    from streamlit.web import cli

    arguments = options(sys.argv[1:] if given is None else given)
    sys.argv = ["streamlit", "run", str(app()), *arguments]
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    main()

"""nginx, as deploy/nginx.conf sets it up, before several attnviz on ports of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser.harness import ROOT, Server, free_port, running_app, wait_until_healthy

CONFIG = ROOT / "deploy" / "nginx.conf"


def find_nginx() -> str | None:
    """Return the path of nginx, or None where there is none; Debian puts it where only root's path leads."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")


def rendered(config: str, port: int, ports: list[int], folder: Path) -> str:
    """Return the configuration with ports of this machine, and with its files in a folder; all else as it is.

    >>> print(rendered("server attnviz:8501 down;\\nlisten 8080;\\npid /tmp/pid;", 1, [2, 3], Path("/here")))
    server 127.0.0.1:2 down;
    server 127.0.0.1:3 down;
    listen 127.0.0.1:1;
    pid /here/pid;
    """
    servers = "\n".join(rf"\g<1>server 127.0.0.1:{each}\g<2>" for each in ports)
    for pattern, new in (
        (r"(?m)^( *)server attnviz:8501(.*)$", servers),
        (r"\blisten 8080;", f"listen 127.0.0.1:{port};"),
        (r"/tmp/", f"{folder}/"),
    ):
        config, n = re.subn(pattern, new, config)
        if n == 0:
            raise ValueError(f"the configuration has no {pattern}")
    return config


@dataclass(frozen=True)
class Site:
    """What readers reach, and what stands behind it."""

    front: Server
    replicas: list[Server]
    folder: Path

    def access(self) -> list[str]:
        """The lines that nginx has logged: address, status, seconds, replica, method, path."""
        return (self.folder / "access.log").read_text(encoding="utf-8").splitlines()


@contextmanager
def running_site(folder: Path, n: int = 3) -> Iterator[Site]:
    """Run n replicas and nginx before them, healthy on entry, stopped on exit."""
    program = find_nginx()
    assert program is not None
    with ExitStack() as stack:
        replicas = [stack.enter_context(running_app(folder / f"replica-{i}.log")) for i in range(n)]
        port = free_port()
        config, log_file = folder / "nginx.conf", folder / "nginx.log"
        ports = [int(replica.url.rpartition(":")[2]) for replica in replicas]
        asked = CONFIG.read_text(encoding="utf-8").replace("/dev/stdout", "/tmp/access.log")
        config.write_text(rendered(asked, port, ports, folder), encoding="utf-8")
        itself = "user root; " if os.getuid() == 0 else ""  # the folder is this user's alone
        command = [program, "-p", str(folder), "-c", str(config), "-g", f"{itself}daemon off;"]
        with log_file.open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        stack.callback(process.wait, 10)
        stack.callback(process.terminate)
        front = Server(f"http://127.0.0.1:{port}", process, log_file)
        wait_until_healthy(front, 20)
        yield Site(front, replicas, folder)

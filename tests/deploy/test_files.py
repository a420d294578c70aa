"""The files that start attnviz elsewhere say what the app says of itself: its port, health, limits and names."""

import re
from pathlib import Path

import pytest
import yaml

from attnviz.limits import FILE_BYTES
from attnviz.models import hub
from attnviz.ui import serving

DEPLOY = Path(__file__).parents[2] / "deploy"
TEXT = {path.name: path.read_text(encoding="utf-8") for path in DEPLOY.iterdir() if path.is_file()}
COMPOSE = yaml.safe_load(TEXT["compose.yaml"])
PODS, SERVICE, INGRESS = yaml.safe_load_all(TEXT["kubernetes.yaml"])


def test_the_image_has_no_rights_and_says_how_it_is() -> None:
    lines = re.sub(r"\\\n\s*", "", TEXT["Dockerfile"]).splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    kinds = [kind for kind, _rest in steps]
    assert kinds[0] == "FROM" and kinds[-1] == "ENTRYPOINT" and kinds.index("USER") < kinds.index("ENTRYPOINT")
    assert dict(steps)["USER"] != "0" and "/_stcore/health" in dict(steps)["HEALTHCHECK"]
    taken = re.findall(r"^!(\S+)", TEXT["Dockerfile.dockerignore"], re.MULTILINE)
    assert all((DEPLOY.parent / name).exists() for name in taken)
    assert {"app.py", "pages", "setup.py", ".streamlit/config.toml"} <= set(taken)


def test_everyone_means_the_same_port_and_the_same_reader() -> None:
    assert '"8501"' in TEXT["Dockerfile"] and "EXPOSE 8501" in TEXT["Dockerfile"]
    assert "server attnviz:8501 " in TEXT["nginx.conf"] and "attnviz" in COMPOSE["services"]
    (container,) = PODS["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": 8501}]
    assert container["readinessProbe"]["httpGet"]["path"] == "/_stcore/health"
    assert SERVICE["spec"]["sessionAffinity"] == "ClientIP"
    cookie = INGRESS["metadata"]["annotations"]["nginx.ingress.kubernetes.io/session-cookie-name"]
    assert f"$cookie_{cookie} $reader" in TEXT["nginx.conf"]


def test_a_file_of_tensors_passes_every_proxy() -> None:
    most = f"{FILE_BYTES // 2**20 + 1}m"
    assert f"client_max_body_size {most};" in TEXT["nginx.conf"]
    assert INGRESS["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"] == most


@pytest.mark.parametrize("name", [hub.PUBLIC, serving.FRAMES])
def test_every_setting_is_explained(name: str) -> None:
    assert f"`{name}" in TEXT["README.md"]


def test_strangers_load_no_models_and_no_container_writes() -> None:
    assert f"ENV {hub.PUBLIC}=1" in TEXT["Dockerfile"]
    attnviz = COMPOSE["services"]["attnviz"]
    assert attnviz["environment"][hub.PUBLIC] == "1" and attnviz["deploy"]["replicas"] == 3
    assert all(service["read_only"] and service["cap_drop"] == ["ALL"] for service in COMPOSE["services"].values())


def test_the_policy_in_the_words_is_the_policy_that_is_sent() -> None:
    (said,) = re.findall(r"    default-src .*?\n\n", TEXT["SECURITY.md"], re.DOTALL)
    sent = serving.headers("<script></script>")["Content-Security-Policy"]
    assert " ".join(said.split()) == re.sub(r"sha256-[^']*", "sha256-…", sent)


def test_every_test_that_the_words_name_is_there() -> None:
    for name in re.findall(r"`((?:tests|attnviz|deploy)/[\w/.]+)`", TEXT["SECURITY.md"] + TEXT["README.md"]):
        assert (DEPLOY.parent / name).exists(), name

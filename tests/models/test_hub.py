"""Models that cannot be loaded say why in one sentence; nothing that they bring is run."""

import json
import os
import pickle
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
import transformers

from attnviz.models import hub, memory
from attnviz.models.refusals import Refused
from tests.models.models_drawn import COMMON, WIDE, save, save_tokenizer
from tests.models.tokenizers_drawn import byte_level, wordpiece

ROOT = Path(__file__).parents[2]


def refusal(name: object) -> Refused:
    with pytest.raises(Refused) as refused:
        hub.load(str(name))
    assert "\n" not in str(refused.value)
    return refused.value


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test asks the real hub, nor finds what is in its cache."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save("bert", tmp_path / "bert")
    return tmp_path / "bert"


def change(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def test_progress_runs_from_nothing_to_all(folder: Path) -> None:
    shares: list[float] = []
    hub.load(str(folder), shares.append)
    assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    assert refusal(tmp_path).code == "folder"
    assert refusal("./no/such/folder").code == "folder"


def test_half_a_file(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert refusal(folder).code == "corrupt"


def test_a_model_that_wants_to_run_its_own_code(folder: Path) -> None:
    marker = folder / "ran"
    (folder / "own.py").write_text(f"open({str(marker)!r}, 'w')\n", encoding="utf-8")
    change(folder, model_type="own", auto_map={"AutoConfig": "own.Config", "AutoModel": "own.Model"})
    assert refusal(folder).code == "code"
    assert not marker.exists()


def test_a_kind_of_model_that_transformers_does_not_know(folder: Path) -> None:
    change(folder, model_type="no_such_kind")
    assert refusal(folder).code == "corrupt"


def test_a_model_without_a_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert refusal(folder).code == "tokenizer"


def test_a_model_whose_attention_cannot_be_read(tmp_path: Path) -> None:
    config = transformers.BloomConfig(hidden_size=24, n_layer=2, n_head=4, **COMMON)
    transformers.BloomForCausalLM(config).save_pretrained(tmp_path)
    save_tokenizer(byte_level(), tmp_path)
    refused = refusal(tmp_path)
    assert refused.code == "interface"
    assert "does not go through transformers' attention interface" in str(refused)


def test_a_model_with_a_sink_of_its_own(tmp_path: Path) -> None:
    config = transformers.GptOssConfig(num_key_value_heads=2, head_dim=8, num_local_experts=2, **WIDE)
    transformers.GptOssForCausalLM(config).save_pretrained(tmp_path)
    save_tokenizer(byte_level(), tmp_path)
    assert refusal(tmp_path).code == "sinks"


def test_a_model_that_reads_pictures(tmp_path: Path) -> None:
    config = transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32
    )
    transformers.ViTModel(config).save_pretrained(tmp_path)
    save_tokenizer(wordpiece(), tmp_path)
    assert refusal(tmp_path).code == "context"


def test_a_model_that_is_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 10**5)
    refused = refusal(folder)
    assert refused.code == "memory"
    assert "are free" in str(refused)


def test_weights_in_a_pickle_are_read_and_nothing_else_of_it(folder: Path) -> None:
    weights = transformers.BertModel.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    assert hub.load(str(folder)).info.kind == "encoder"

    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(folder / "ran"),)

    with (folder / "pytorch_model.bin").open("wb") as file:
        pickle.dump({"x": Evil()}, file)
    assert refusal(folder).code == "corrupt"
    assert not (folder / "ran").exists()


def test_a_hub_that_is_not_to_be_asked() -> None:
    refused = refusal("some/model")
    assert refused.code == "network"
    assert str(refused) == "some/model: not on this machine, and the hub cannot be reached"


@pytest.mark.parametrize("name", ["", "a b", "a/b/c", "é", "..\\x", "hf:x"])
def test_a_name_that_is_none(name: str) -> None:
    assert refusal(name).code in ("unknown", "folder", "network")


class _Hub(BaseHTTPRequestHandler):
    """A hub that serves one folder as model "some/model", and knows no other."""

    folder: Path

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, with_body: bool) -> None:
        prefix = "/some/model/resolve/main/"
        path = self.folder / self.path.removeprefix(prefix)
        known = self.path.startswith(prefix) and path.is_file()
        body = path.read_bytes() if known else b"{}"
        self.send_response(200 if known else 404)
        if known:
            self.send_header("ETag", f'"{path.name}"')
            self.send_header("X-Repo-Commit", "0" * 40)
        else:
            self.send_header("X-Error-Code", "EntryNotFound" if "/some/model/" in self.path else "RepoNotFound")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Hub", (_Hub,), {"folder": folder}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


ASKS = """
import sys
from attnviz.models import hub
from attnviz.models.refusals import Refused
for name in sys.argv[1:]:
    try:
        print(hub.load(name).read("the cat").parts[0].layers[0].query.double().sum().item())
    except Refused as refused:
        print(refused.code)
"""


def asked(*names: str, **environment: str) -> list[str]:
    """What a fresh interpreter says of some models: a sum over what was read, or a refusal's code.

    It knows of no other hub, cache or proxy than it is told of here: tests/conftest.py tells ours to ask no hub.
    """
    clean = {
        name: value for name, value in os.environ.items() if not re.match("HF_|TRANSFORMERS_|.*proxy$", name, re.I)
    }
    done = subprocess.run(
        [sys.executable, "-c", ASKS, *names],
        env=clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_model_comes_from_the_hub_that_is_named_and_then_from_the_cache(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Online in a fresh interpreter, for the environment is read when it starts; offline in this one."""
    found, unknown = asked("some/model", "some/other", HF_HOME=str(tmp_path / "home"), HF_ENDPOINT=endpoint)
    assert found == str(total(str(tmp_path / "bert")))
    assert unknown == "unknown"
    assert refusal("some/model").code == "network"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    assert found == str(total("some/model"))


def total(name: str) -> float:
    return hub.load(name).read("the cat").parts[0].layers[0].query.double().sum().item()


def test_a_hub_that_does_not_answer_is_not_asked_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and listens to nobody
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(hub, "getproxies", dict)
        began = time.monotonic()
        assert refusal("some/model").code == "network"
        assert time.monotonic() - began < 10

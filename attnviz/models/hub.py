"""A model of the Hugging Face hub, or of a folder, loaded by transformers.

Where it comes from is transformers' business: HF_ENDPOINT, HF_HUB_OFFLINE and the cache work as they always do.
Nothing that a model brings is run: no code of its own, safetensors where there are any, pickles as weights only.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch

from attnviz.limits import MODEL_TOKENS
from attnviz.models import capture
from attnviz.models.huggingface import HuggingFace
from attnviz.models.memory import check_memory
from attnviz.models.model import ModelInfo, Progress
from attnviz.models.packages import install_line, missing
from attnviz.models.refusals import Refused
from attnviz.models.slow_tokenizer import SlowTokenizer

PREFIX = "hf:"
PUBLIC = "ATTNVIZ_PUBLIC"  # set, in the environment of a server that all may reach: no model is loaded by its name
_PATIENCE = 5.0  # seconds for the hub to answer
_WRITES = ("ForCausalLM", "LMHeadModel")  # in the name of the class that a decoder was saved by


def info(code: str = PREFIX) -> ModelInfo:
    """The card of a model before it is loaded: all but its code and title is known later."""
    title = code.removeprefix(PREFIX) or "Hugging Face"
    lacks = missing("transformers")
    line = install_line("transformers")
    return ModelInfo(code, title, "", 0, 0, 0, 0, 0, MODEL_TOKENS, 0, 0, "", lacks, line)


def closed() -> bool:
    """Say whether this server loads no model by its name or folder, since anybody may be asking."""
    return bool(os.environ.get(PUBLIC))


def load(name: str, progress: Progress | None = None) -> HuggingFace:
    """Load a model by its name on the hub or its folder, in float32.

    Raises Refused: "public" where this server loads none, "missing" without transformers, "unknown", "network",
    "folder", "corrupt", "code", "tokenizer", "memory", "interface" and "sinks" for what their sentences say, or
    "context" for a model that reads no text.
    """
    card = info(PREFIX + name)
    if closed():
        raise Refused("public", model=card.title)
    if card.missing:
        raise Refused("missing", model=card.title, packages="transformers", install=card.install)
    if _is_folder(name) and not (Path(name) / "config.json").is_file():
        raise Refused("folder", model=name)
    import transformers
    from transformers.initialization import no_init_weights

    capture.register()
    # Else transformers asks the hub to write a safetensors copy of whatever has none.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    common = {"trust_remote_code": False, "local_files_only": _is_folder(name) or not _reachable()}
    told = progress or (lambda share: None)
    told(0.0)
    with _worded(name, "corrupt"):
        config = transformers.AutoConfig.from_pretrained(name, **common)
    made = _class(transformers, config)
    with _worded(name, "context"), torch.device("meta"), no_init_weights():
        sketch = made.from_config(config, trust_remote_code=False)
        sketch.tie_weights()
    check_memory(name, 4 * sum(parameter.numel() for parameter in sketch.parameters()))
    del sketch
    told(0.1)
    with _worded(name, "tokenizer"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **common)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # made up by transformers, for want of a file
        raise Refused("tokenizer", model=name)
    told(0.2)
    with _worded(name, "corrupt"):
        model = made.from_pretrained(
            name, attn_implementation=capture.NAME, dtype=torch.float32, weights_only=True, **common
        ).eval()
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    card = card._replace(
        d_model=getattr(config.get_text_config(), "hidden_size", 0) or 0,
        parameters=n_parameters,
        tokens=_window(config, tokenizer),
        memory=4 * n_parameters,
    )
    reader: Any = SlowTokenizer(tokenizer)
    if tokenizer.is_fast:
        reader = tokenizer.backend_tokenizer
        reader.no_padding()
        reader.no_truncation()
    with _worded(name, "context"):
        loaded = HuggingFace(card, model, reader, frozenset(tokenizer.all_special_ids))
    told(1.0)
    return loaded


def _class(transformers: Any, config: Any) -> Any:
    """The head that a model was saved with, where it writes; else none."""
    if config.is_encoder_decoder:
        return transformers.AutoModelForSeq2SeqLM
    if any(sign in name for name in config.architectures or () for sign in _WRITES):
        return transformers.AutoModelForCausalLM
    return transformers.AutoModel


def _window(config: Any, tokenizer: Any) -> int:
    """How many tokens the model reads at most, of those that we take."""
    text = config.get_text_config()
    known = [tokenizer.model_max_length, *(getattr(text, name, None) for name in ("max_position_embeddings", "n_ctx"))]
    return min(MODEL_TOKENS, *(int(n) for n in known if isinstance(n, int | float) and n > 0))


def _is_folder(name: str) -> bool:
    return name.startswith((".", "/", "~")) or Path(name).is_dir()


def _reachable() -> bool:
    """Whether the hub answers at all; else transformers would ask it again and again, for a minute and more."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if getproxies():  # which would know
        return True
    url = urlsplit(constants.ENDPOINT)
    try:
        socket.create_connection(
            (url.hostname or "", url.port or (80 if url.scheme == "http" else 443)), timeout=_PATIENCE
        ).close()
    except OSError:
        return False
    return True


@contextmanager
def _worded(name: str, code: str) -> Iterator[None]:
    """Turn what transformers raises into one sentence; `code` is what it is when its words do not tell."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise _refusal(name, code, said) from error


def _refusal(name: str, code: str, said: str) -> Refused:
    lower = said.lower()
    if "trust_remote_code" in lower or "custom code" in lower:
        return Refused("code", model=name)
    if "attention" in lower and ("does not support" in lower or "not supported" in lower):
        return Refused("interface", model=name)
    if "couldn't connect" in lower or "offline" in lower or "connection" in lower:
        return Refused("network", model=name)
    if "not a valid model identifier" in lower or "repository not found" in lower or "gated repo" in lower:
        return Refused("unknown", model=name)
    if "repo id" in lower or "repo_id" in lower:
        return Refused("unknown", model=name)
    return Refused(code, model=name, why=said[:200])

"""Tiny models of transformers with random weights, saved to a folder each with a tiny tokenizer of its family."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

from tests.models.tokenizers_drawn import byte_fallback, byte_level, unigram, wordpiece


class Drawn(NamedTuple):
    """A model as it is saved: its class, its config, its tokenizer, and what should be found in it."""

    made: Any
    config: Any
    tokenizer: Callable[[], Any]
    kind: str
    heads: int
    kv_heads: int


COMMON = {"vocab_size": 400, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
WIDE = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32} | COMMON
BOTH = {"decoder_start_token_id": 0} | COMMON

MODELS: dict[str, Drawn] = {
    "bert": Drawn(transformers.BertModel, transformers.BertConfig(**WIDE), wordpiece, "encoder", 4, 4),
    "distilbert": Drawn(
        transformers.DistilBertModel,
        transformers.DistilBertConfig(dim=24, hidden_dim=32, n_layers=2, n_heads=4, **COMMON),
        wordpiece,
        "encoder",
        4,
        4,
    ),
    "gpt2": Drawn(
        transformers.GPT2LMHeadModel,
        transformers.GPT2Config(n_embd=24, n_layer=2, n_head=4, n_positions=128, **COMMON),
        byte_level,
        "decoder",
        4,
        4,
    ),
    "llama": Drawn(
        transformers.LlamaForCausalLM,
        transformers.LlamaConfig(num_key_value_heads=2, head_dim=8, **WIDE),
        byte_fallback,
        "decoder",
        4,
        2,
    ),
    "qwen3": Drawn(
        transformers.Qwen3ForCausalLM,
        transformers.Qwen3Config(num_key_value_heads=1, head_dim=8, **WIDE),
        byte_level,
        "decoder",
        4,
        1,
    ),
    "gpt_neox": Drawn(
        transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig(**WIDE), byte_level, "decoder", 4, 4
    ),
    "gemma2": Drawn(
        transformers.Gemma2ForCausalLM,
        transformers.Gemma2Config(
            num_key_value_heads=2, head_dim=8, attn_logit_softcapping=2.0, sliding_window=4, **WIDE
        ),
        byte_fallback,
        "decoder",
        4,
        2,
    ),
    "t5": Drawn(
        transformers.T5ForConditionalGeneration,
        transformers.T5Config(
            d_model=24, d_kv=5, d_ff=32, num_layers=2, num_decoder_layers=3, num_heads=4,
            relative_attention_num_buckets=8, **BOTH,
        ),
        unigram,
        "encoder-decoder",
        4,
        4,
    ),
    "bart": Drawn(
        transformers.BartForConditionalGeneration,
        transformers.BartConfig(
            d_model=24, encoder_layers=2, decoder_layers=3, encoder_attention_heads=3, decoder_attention_heads=4,
            encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64, **BOTH,
        ),
        byte_level,
        "encoder-decoder",
        3,
        3,
    ),
}  # fmt: skip


def save(name: str, folder: Path) -> Any:
    """Save the model of a name to a folder, with its tokenizer; return the very model that was saved."""
    drawn = MODELS[name]
    model = strong(drawn.made(drawn.config))
    model.save_pretrained(folder)
    save_tokenizer(drawn.tokenizer(), folder)
    return model


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    known = tokenizer.get_vocab()
    names = {"pad_token": "<pad>", "eos_token": "</s>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    special = {name: token for name, token in names.items() if token in known}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)


def strong(model: Any) -> Any:
    """The model with weights so large that attention is far from even, and biases that are not zero."""
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1 or name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.4, generator=generator)
    return model.eval()

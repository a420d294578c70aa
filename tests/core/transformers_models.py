"""Tiny models of transformers, drawn from configs: nothing is downloaded, and nothing is looked up.

Two sequences of N_TOKENS tokens, the second padded; those that decode read them and decode N_DECODED tokens.
"""

from functools import cache

import torch
import transformers
from torch import Tensor

from attnviz.core.masks import causal, padding
from attnviz.core.positions import relative_buckets
from attnviz.core.rotary import Rotary, rotary_angles
from tests.core.transformers_record import Layer, Named, Site, drawn, fused, linear, named, run, with_table

N_TOKENS, N_DECODED = 11, 9
LENGTHS = (11, 7)
PADDED = padding(LENGTHS, N_TOKENS)[:, None]  # (b, 1, 1, u)
CAUSAL = causal(N_DECODED, N_DECODED)  # (s, u)
CAUSAL_AND_PADDED = causal(N_TOKENS, N_TOKENS) & PADDED  # (b, 1, s, u)

# Eager is the implementation that returns its weights.
COMMON = {"attn_implementation": "eager", "vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@cache
def bert() -> list[Layer]:
    config = transformers.BertConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=16, **COMMON
    )
    model = drawn(transformers.BertModel(config))
    rename = linear("query", "key", "value", "dense")
    sites = []
    for block in model.encoder.layer:
        attention, dense = block.attention.self, block.attention.output.dense
        parameters = named(("", attention), ("dense.", dense))
        sites.append(Site(attention, dense, parameters, rename, PADDED, {"n_heads": 4}))
    return run(model, sites, encoded())


@cache
def gpt2() -> list[Layer]:
    config = transformers.GPT2Config(n_embd=24, n_layer=2, n_head=4, n_positions=16, **COMMON)
    model = drawn(transformers.GPT2Model(config))
    sites = [
        Site(block.attn, block.attn, named(("", block.attn)), fused, CAUSAL_AND_PADDED, {"n_heads": 4})
        for block in model.h
    ]
    return run(model, sites, encoded())


@cache
def llama(exact_angles: bool = True) -> list[Layer]:
    """With grouped heads, wider than d_model / n_heads. Of itself, the model keeps its angles in float32."""
    config = transformers.LlamaConfig(
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=16,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        **COMMON,
    )
    model = drawn(transformers.LlamaModel(config))
    rotary = Rotary(base=500.0)
    if exact_angles:
        angles = rotary_angles(N_TOKENS, 8, rotary).repeat(1, 2)  # (s, k)
        model.rotary_emb.forward = lambda x, position_ids: (angles.cos()[None], angles.sin()[None])
    options = {"n_heads": 4, "n_kv_heads": 2, "rotary": rotary, "softmax_dtype": torch.float32}
    rename = linear("q_proj", "k_proj", "v_proj", "o_proj")
    found = [block.self_attn for block in model.layers]
    sites = [Site(module, module, named(("", module)), rename, CAUSAL_AND_PADDED, options) for module in found]
    return run(model, sites, encoded())


def llama_as_it_is() -> list[Layer]:
    return llama(exact_angles=False)


@cache
def t5() -> list[Layer]:
    """Encoder, decoder, and the decoder's reading of the encoder; it scales nothing."""
    config = transformers.T5Config(
        d_model=24,
        d_kv=5,
        d_ff=16,
        num_layers=2,
        num_heads=4,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=9,
        **COMMON,
    )
    model = drawn(transformers.T5Model(config))
    rename, options = linear("q", "k", "v", "o"), {"n_heads": 4, "scale": 1.0}
    sites = []
    for stack, n, mask in ((model.encoder, N_TOKENS, PADDED), (model.decoder, N_DECODED, CAUSAL)):
        buckets = relative_buckets(n, n, n_buckets=8, max_distance=9, bidirectional=stack is model.encoder)
        # Layer 0 keeps the table of biases for all layers of its stack.
        table = {"table": stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight}
        for block in stack.block:
            module = block.layer[0].SelfAttention
            sites.append(Site(module, module, named(("", module)) | table, with_table(rename), mask, options, buckets))
    for block in model.decoder.block:
        module = block.layer[1].EncDecAttention
        sites.append(Site(module, module, named(("", module)), rename, PADDED, options))
    return run(model, sites, encoded_and_decoded())


@cache
def bart() -> list[Layer]:
    """Encoder, decoder, and the decoder's reading of the encoder."""
    config = transformers.BartConfig(
        d_model=24,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=4,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=16,
        **COMMON,
    )
    model = drawn(transformers.BartModel(config))
    found = [(block.self_attn, PADDED, {"n_heads": 3}) for block in model.encoder.layers]
    found += [(block.self_attn, CAUSAL, {"n_heads": 4}) for block in model.decoder.layers]
    found += [(block.encoder_attn, PADDED, {"n_heads": 4}) for block in model.decoder.layers]
    rename = linear("q_proj", "k_proj", "v_proj", "out_proj")
    sites = [Site(module, module, named(("", module)), rename, mask, options) for module, mask, options in found]
    return run(model, sites, encoded_and_decoded())


def encoded() -> Named:
    """input_ids, and 1 where there is a token, 0 where there is padding: (b, u)."""
    return {"input_ids": tokens(N_TOKENS), "attention_mask": PADDED[:, 0, 0].long()}


def encoded_and_decoded() -> Named:
    return encoded() | {"decoder_input_ids": tokens(N_DECODED)}


def tokens(n: int) -> Tensor:
    return torch.randint(3, 40, (len(LENGTHS), n), generator=torch.Generator().manual_seed(n))

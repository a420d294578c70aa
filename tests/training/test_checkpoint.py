"""A model as a file: there and back, what is refused, and the model that ships."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from attnviz.core.repeats import induction_mass, score, seen_before
from attnviz.core.statistics import previous_token_mass
from attnviz.limits import CHECKPOINT_BYTES
from attnviz.training.__main__ import main
from attnviz.training.checkpoint import TINY, TINY_FILE, card, from_bytes, tiny, to_bytes
from attnviz.training.model import forward, initial
from attnviz.training.recipe import POSITIONS, TASKS, Recipe
from attnviz.training.tasks import batch
from attnviz.training.trainer import evaluate

TEXT = 'the cat "sat" on the mat; 猫坐在垫子上。\n\t 🐈 ' * 8


def parts(data: bytes) -> tuple[dict[str, torch.Tensor], dict]:
    """The tensors of a file, and what its metadata says."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return load(data), json.loads(header["__metadata__"]["attnviz"])


def good() -> tuple[dict[str, torch.Tensor], dict]:
    recipe = Recipe(layers=1, width=8)
    return parts(to_bytes(recipe, initial(recipe), step=5, accuracy=0.5))


def packed(tensors: dict[str, torch.Tensor], about: object) -> bytes:
    data: bytes = save(tensors, {"attnviz": json.dumps(about)})
    return data


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_model_comes_back_as_it_went(task: str, positions: str) -> None:
    recipe = Recipe(task, layers=2, heads=2, width=16, positions=positions, seed=3, text=TEXT)
    weights = initial(recipe)
    data = to_bytes(recipe, weights, step=7, accuracy=0.25)
    back, same, meta = from_bytes(data)
    assert back == recipe and (meta.step, meta.accuracy) == (7, 0.25)
    assert meta.card == card(recipe, step=7, accuracy=0.25)
    for (name, one), (other, two) in zip(weights.items(), same.items(), strict=True):
        assert name == other and torch.equal(one, two)
    assert to_bytes(back, same, step=7, accuracy=0.25) == data


def test_the_largest_model_there_is_fits() -> None:
    text = "".join(map(chr, range(0x1F300, 0x1F300 + 512))) * 39  # of four bytes each
    recipe = Recipe("text", layers=4, width=64, text=text)
    data = to_bytes(recipe, initial(recipe), step=0)
    assert len(data) < CHECKPOINT_BYTES and from_bytes(data)[0] == recipe


def test_the_bytes_are_the_same_in_another_interpreter() -> None:
    """Whatever the hash seed: safetensors writes metadata of several entries in any order."""
    program = """
import hashlib
from attnviz.training.checkpoint import to_bytes
from attnviz.training.model import initial
from attnviz.training.recipe import Recipe
print(hashlib.sha256(to_bytes(Recipe(), initial(Recipe()), step=0)).hexdigest())
"""
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout.strip()
    assert there == hashlib.sha256(to_bytes(Recipe(), initial(Recipe()), step=0)).hexdigest()


def test_a_broken_file_is_refused_in_one_sentence() -> None:
    data = TINY_FILE.read_bytes()
    for broken in (b"", b"PK\x03\x04" * 40, data[:100], data[:-1], data + b"0", b"\xff" * 8 + data[8:]):
        with pytest.raises(
            ValueError, match=rf"^checkpoint: expected a safetensors file of attnviz, got {len(broken)} "
        ):
            from_bytes(broken)
    with pytest.raises(ValueError, match=f"^checkpoint: expected at most {CHECKPOINT_BYTES} bytes, got "):
        from_bytes(b"0" * (CHECKPOINT_BYTES + 1))


def test_a_file_of_something_else_is_refused() -> None:
    for data in (save({"weight": torch.ones(2)}), save({"weight": torch.ones(2)}, {"attnviz": "[1"})):
        with pytest.raises(ValueError, match=r"^checkpoint: expected the metadata of attnviz, got "):
            from_bytes(data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recipe": {"task": "sort"}}, "expected a recipe with every field of Recipe, got"),
        ({"recipe": None}, "expected a recipe with every field of Recipe, got None"),
        ({"layers": 99}, "expected a recipe within the limits, but layers must be a whole number from 1 to 4, not 99"),
        ({"task": []}, "expected a recipe within the limits, but task must be one of repeat, "),
        ({"width": 16}, "expected embedding of shape (26, 16), torch.float32, got (26, 8), torch.float32"),
        ({"layers": 2}, "expected the tensors of its recipe, got none called layers.1.w_k"),
        ({"positions": "none"}, "expected the tensors of its recipe, got one called 'positions'"),
        ({"step": -1}, "expected a step from 0 to 300, got -1"),
        ({"step": True}, "expected a step from 0 to 300, got True"),
        ({"accuracy": 1.5}, "expected an accuracy from 0 to 1 or none, got 1.5"),
        ({"accuracy": "high"}, "expected an accuracy from 0 to 1 or none, got 'high'"),
        ({"card": None}, "expected a card in words, got None"),
    ],
)
def test_metadata_that_do_not_fit_are_named(change: dict, words: str) -> None:
    tensors, about = good()
    for name, value in change.items():
        if name in about:
            about[name] = value
        else:
            about["recipe"][name] = value
    with pytest.raises(ValueError) as caught:
        from_bytes(packed(tensors, about))
    assert str(caught.value).startswith("checkpoint: " + words)


def test_tensors_that_do_not_fit_are_named() -> None:
    tensors, about = good()
    nan = tensors | {"layers.0.w_q": torch.full((8, 8), torch.nan)}
    half = tensors | {"embedding": tensors["embedding"].half()}
    with pytest.raises(
        ValueError, match=r"^checkpoint: expected finite numbers in layers\.0\.w_q, got NaN or infinity$"
    ):
        from_bytes(packed(nan, about))
    with pytest.raises(
        ValueError, match=r"expected embedding of shape \(26, 8\), torch\.float32, got .* torch\.float16$"
    ):
        from_bytes(packed(half, about))


# ---- attnviz-tiny ----


def test_the_model_that_ships_has_an_induction_head_on_fresh_sequences_and_a_previous_token_head_below() -> None:
    recipe, weights = tiny()
    fresh = batch(recipe, 200, torch.Generator().manual_seed(987_654_321))
    first, second = forward(recipe, weights, fresh.tokens, keep=True).layers
    induction = score(induction_mass(second.trace.weights, fresh.tokens), seen_before(fresh.tokens))  # (b, h)
    previous = score(previous_token_mass(first.trace.weights)[..., 1:])
    assert float(induction.mean()) > 0.8 and float(induction.min()) > 0.5
    assert float(previous.mean()) > 0.8
    accuracy, scores = evaluate(recipe, weights, fresh)
    assert accuracy > 0.98 and scores[1, 0]["induction"] == pytest.approx(float(induction.mean()), abs=1e-6)


def test_the_model_that_ships_is_small_and_its_card_stands_beside_it() -> None:
    data = TINY_FILE.read_bytes()
    recipe, weights, meta = from_bytes(data)
    assert recipe == TINY and len(data) < 50_000
    assert to_bytes(recipe, weights, step=meta.step, accuracy=meta.accuracy) == data
    assert meta.step == TINY.steps and meta.accuracy is not None and meta.accuracy > 0.98
    assert TINY_FILE.with_name("README.md").read_text(encoding="utf-8") == meta.card


def test_the_command_writes_the_model_that_ships(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As long as the processor rounds alike, bit by bit; that its score is high holds on any."""
    out, words = tmp_path / "tiny.safetensors", tmp_path / "card.md"
    assert main(["--out", str(out), "--card", str(words)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("step 0  loss 3.2") and "step 600" in said
    recipe, weights, meta = from_bytes(out.read_bytes())
    assert recipe == TINY and words.read_text(encoding="utf-8") == meta.card
    fresh = batch(recipe, 100, torch.Generator().manual_seed(123))
    assert evaluate(recipe, weights, fresh)[1][1, 0]["induction"] > 0.8


def test_the_command_trains_other_models_and_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "out.safetensors"
    text.write_text(TEXT, encoding="utf-8")
    small = ["--out", str(out), "--layers", "1", "--width", "8", "--steps", "10"]
    assert main([*small, "--task", "text", "--text", str(text), "--learning-rate", "0.02"]) == 0
    assert from_bytes(out.read_bytes())[0] == Recipe("text", 1, 1, 8, steps=10, learning_rate=0.02, text=TEXT)
    with pytest.raises(SystemExit):
        main([*small, "--heads", "3"])
    assert "heads must divide width=8, 3 does not" in capsys.readouterr().err
    assert main([*small[:-6], "--layers", "4", "--learning-rate", "1000"]) == 1
    assert "the loss is not finite; try a smaller --learning-rate" in capsys.readouterr().err


@pytest.mark.parametrize("task", TASKS)
def test_the_command_on_a_card_trains_the_same_recipe(task: str, tmp_path: Path) -> None:
    offset = 3 if task == "copy" else 2
    recipe = Recipe(task, 1, 2, 8, "alibi", seed=4, learning_rate=0.02, steps=10, offset=offset, text=TEXT)
    (line,) = (line for line in card(recipe, step=10).splitlines() if "python -m attnviz.training" in line)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    here = {"text.txt": str(tmp_path / "text.txt"), "model.safetensors": str(tmp_path / "model.safetensors")}
    words = [here.get(word, word) for word in line.split()[3:]]
    assert main(words) == 0
    assert from_bytes((tmp_path / "model.safetensors").read_bytes())[0] == recipe

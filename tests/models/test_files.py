"""Files of tensors: what every kind gives, what it is taken for, and what is said of each that cannot be read."""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from attnviz import limits
from attnviz.models import files, files_numpy
from attnviz.models.files import KINDS, read_file, read_path
from attnviz.models.files_axes import readings
from attnviz.models.files_refused import CODES, FileRefused
from attnviz.models.files_roles import guess

GENERATOR = torch.Generator().manual_seed(0)
WEIGHTS = torch.softmax(torch.randn(2, 3, 4, 5, generator=GENERATOR), dim=-1)
QUERY = torch.randn(2, 3, 4, 8, generator=GENERATOR)


def npy(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def pt(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def refused(file: str, data: bytes) -> FileRefused:
    with pytest.raises(FileRefused) as caught:
        read_file(file, data)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(f"{file}: ")
    return caught.value


TWO = {"q": QUERY, "attn": WEIGHTS}
WHOLE = {
    "a.npy": npy(WEIGHTS.numpy()),
    "a.npz": npz(q=QUERY.numpy(), attn=WEIGHTS.numpy()),
    "a.safetensors": save(TWO),
    "a.pt": pt(TWO),
    "a.pth": pt(WEIGHTS),
    "a.csv": "\n".join(",".join(map(repr, row)) for row in WEIGHTS[0, 0].tolist()).encode(),
    "a.json": json.dumps({"q": QUERY.tolist(), "attn": WEIGHTS.tolist()}).encode(),
}


@pytest.mark.parametrize("file", WHOLE)
def test_every_kind_gives_its_numbers(file: str) -> None:
    read = read_file(file, WHOLE[file])
    by_role = {each.role: each.tensor for each in read.arrays}
    assert torch.equal(by_role["weights"], WEIGHTS[0, 0] if file == "a.csv" else WEIGHTS)
    if "query" in by_role:
        assert torch.equal(by_role["query"], QUERY)
    assert read.left_out == ()


def test_every_kind_is_here() -> None:
    assert {Path(file).suffix for file in WHOLE} == set(KINDS)


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "?", "i1", "<i4", ">i8", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_numbers_and_order(dtype: str, order: Any) -> None:
    array = np.asarray(np.arange(24).reshape(2, 3, 4) % 7, dtype=dtype, order=order)
    (read,) = read_file("a.npy", npy(array)).arrays
    assert read.tensor.tolist() == array.tolist()
    assert read.tensor.dtype in (torch.bool, torch.float16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool])
def test_dtypes_are_kept(dtype: torch.dtype) -> None:
    x = (WEIGHTS > 0.2) if dtype == torch.bool else WEIGHTS.to(dtype)
    for file, data in (("a.safetensors", save({"x": x})), ("a.pt", pt({"x": x}))):
        (read,) = read_file(file, data).arrays
        assert read.tensor.dtype == dtype and torch.equal(read.tensor, x)


def test_a_list_of_layers_is_one_array() -> None:
    (read,) = read_file("a.pt", pt({"attentions": tuple(WEIGHTS for _ in range(3))})).arrays
    assert (read.name, tuple(read.tensor.shape), read.role) == ("attentions", (3, 2, 3, 4, 5), "weights")


def test_what_has_too_few_or_too_many_axes_is_left_out() -> None:
    read = read_file("a.pt", pt({"lengths": torch.ones(3), "deep": torch.ones(1, 1, 1, 1, 2, 2), "q": QUERY}))
    assert [each.name for each in read.arrays] == ["q"] and read.left_out == ("lengths", "deep")


def test_tokens_come_from_json_and_from_a_table() -> None:
    assert read_file("a.json", b'{"w": [[1, 0]], "tokens": ["<s>", "a"]}').tokens == ("<s>", "a")
    read = read_file("a.csv", "\ufeff;的;cat\n的;1;0\ncat;0.5;0.5\n".encode())
    assert read.tokens == ("的", "cat") and read.arrays[0].tensor.tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("name", "role"),
    [("q", "query"), ("layer.0.key_states", "key"), ("V", "value"), ("attention_mask", "mask"),
     ("attn_output", "output"), ("attentions", "weights"), ("attnWeights", "weights"), ("input_ids", "tokens"),
     ("h.0.q_proj.weight", "other"), ("something", "other")],
)  # fmt: skip
def test_roles_are_guessed_from_names(name: str, role: str) -> None:
    assert guess(name, torch.randn(3, 4)) == role


def test_a_mask_of_ones_and_zeros_is_bool() -> None:
    (read,) = read_file("mask.npy", npy(np.eye(3, dtype=np.int64))).arrays
    assert read.role == "mask" and read.tensor.dtype == torch.bool


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (Path("evil-ran"), "x"))


BAD: dict[str, tuple[str, bytes]] = {
    "a.txt": ("kind", b"1,2"),
    "empty.npy": ("empty", b""),
    "blank.csv": ("empty", b" \n\n"),
    "renamed.npy": ("renamed", WHOLE["a.safetensors"]),
    "renamed.pt": ("renamed", WHOLE["a.npy"]),
    "renamed.csv": ("renamed", WHOLE["a.npz"]),
    "numpys.pt": ("renamed", WHOLE["a.npz"]),
    "text.npz": ("corrupt", b"hello, this is text"),
    "pickle.pt": ("pickle", pickle.dumps(Evil())),
    "old.pt": ("pickle", pt(WEIGHTS, _use_new_zipfile_serialization=False)),
    "code.pt": ("code", pt({"w": WEIGHTS, "evil": Evil()})),
    "module.pt": ("code", pt(torch.nn.Linear(2, 2))),
    "objects.npy": ("objects", npy(np.array([[{}, 1]], dtype=object), allow_pickle=True)),
    "records.npy": ("objects", npy(np.zeros((2, 2), dtype=[("a", "f4")]))),
    "complex.npy": ("numbers", npy(np.zeros((2, 2), dtype=complex))),
    "objects.npz": ("objects", npz(a=np.array([[{}, 1]], dtype=object))),
    "sparse.pt": ("numbers", pt({"w": torch.eye(3).to_sparse()})),
    "ragged.csv": ("lengths", b"1,2\n3\n"),
    "ragged.json": ("lengths", b"[[1, 2], [3]]"),
    "words.csv": ("text", b"1,2\n3,four\n"),
    "words.json": ("objects", b'[[1, "a"]]'),
    "null.json": ("objects", b"[[1, null]]"),
    "half.json": ("corrupt", b"[[1, 2"),
    "deep.json": ("corrupt", b"[" * 100_000),
    "latin.csv": ("corrupt", b"1,\xe9\n"),
    "flat.npy": ("nothing", npy(np.zeros(3))),
    "numbers.json": ("none", b'{"a": 1}'),
}


@pytest.mark.parametrize("file", BAD)
def test_every_bad_file_is_refused_in_one_sentence(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, data = BAD[file]
    assert refused(file, data).code == code
    assert list(tmp_path.iterdir()) == []  # nothing was run, nothing was written


@pytest.mark.parametrize("file", [file for file in WHOLE if not file.endswith((".csv", ".json"))])
def test_a_truncated_file_is_refused(file: str) -> None:
    data = WHOLE[file]
    for kept in (1, 9, 60, len(data) // 2, len(data) - 1):
        assert refused(file, data[:kept]).code in ("corrupt", "renamed")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(WHOLE)), st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(file: str, at: int, byte: int) -> None:
    data = bytearray(WHOLE[file])
    data[at % len(data)] = byte
    code = None
    try:
        read = read_file(file, bytes(data))
    except FileRefused as error:
        code = error.code
    assert code in CODES or (code is None and (read.arrays or read.tokens))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (files, files_numpy):
        monkeypatch.setattr(module, "FILE_UNPACKED_BYTES", 10**6)
    bomb = npz(a=np.zeros((2000, 2000)))
    assert len(bomb) < 10**5
    assert refused("a.npz", bomb).code == "unpacked"
    claimed = io.BytesIO()
    with zipfile.ZipFile(claimed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(np.zeros((2000, 2000))))
    lying = claimed.getvalue().replace((32_000_128).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert refused("a.npz", lying).code in ("unpacked", "corrupt")
    assert refused("a.pt", pt(torch.zeros(1).expand(2000, 2000))).code == "unpacked"


def test_too_large_and_too_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "large.npy").open("wb") as file:
        file.truncate(5 * 2**30)  # a hole: it takes no room
    with pytest.raises(FileRefused, match=r"large\.npy: expected at most 209715200 bytes, got 5368709120"):
        read_path(tmp_path / "large.npy")
    monkeypatch.setattr(files, "FILE_BYTES", 100)
    assert refused("a.npy", WHOLE["a.npy"]).code == "size"
    monkeypatch.undo()
    many = {str(i): torch.zeros(1, 2) for i in range(limits.FILE_TENSORS + 1)}
    assert refused("a.safetensors", save(many)).code == "many"


def test_nan_and_negative_numbers_are_read_for_they_are_what_is_asked_about() -> None:
    read = read_file("a.json", b"[[NaN, -1], [Infinity, 0]]").arrays[0].tensor
    assert read[0, 0].isnan() and read[0, 1] == -1 and read[1, 0].isinf()


def test_a_refusal_can_be_sent_on() -> None:
    error = refused("a.npy", b"x")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    assert (again.code, str(again)) == (error.code, str(error))


@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_strings_of_an_npz_are_its_tokens(byteorder: str) -> None:
    """np.savez turns a list of words into an array of strings."""
    words = np.array(["the", "猫", "</s>"], dtype=f"{byteorder}U4")
    read = read_file("a.npz", npz(q=QUERY.numpy(), tokens=words))
    assert (read.tokens, [each.name for each in read.arrays]) == (("the", "猫", "</s>"), ["q"])


def test_numbers_of_one_axis_that_are_called_ids_are_tokens() -> None:
    read = read_file("a.npz", npz(q=QUERY.numpy(), input_ids=np.array([101, 7, 102])))
    assert (read.tokens, read.left_out) == (("101", "7", "102"), ("input_ids",))


def test_layers_that_are_held_one_by_one_become_one_array() -> None:
    """np.savez names a list of arrays arr_0, arr_1 and so on; ten comes after nine, not after one."""
    layers = [torch.softmax(torch.randn(3, 4, 4, generator=GENERATOR), dim=-1) for _ in range(11)]
    file = io.BytesIO()
    np.savez(file, *(layer.numpy() for layer in layers))
    (one,) = read_file("a.npz", file.getvalue()).arrays
    assert (one.name, one.role, one.layered) == ("arr_0–10", "weights", True)
    assert torch.equal(one.tensor, torch.stack(layers))
    assert readings({"weights": one.tensor}, layered=True)[0] == "lh"


def test_arrays_of_other_shapes_or_with_a_gap_stay_apart() -> None:
    gap = read_file("a.npz", npz(w0=WEIGHTS[0].numpy(), w2=WEIGHTS[1].numpy()))
    odd = read_file("a.npz", npz(w0=WEIGHTS[0].numpy(), w1=WEIGHTS[0, :, :3].numpy()))
    assert [each.name for each in (*gap.arrays, *odd.arrays)] == ["w0", "w2", "w0", "w1"]
    two = read_file("a.npz", npz(l1_q0=QUERY.numpy(), l1_q1=QUERY.numpy()))
    assert [each.name for each in two.arrays] == ["l1_q0–1"]


@pytest.mark.parametrize(
    ("file", "data", "tokens"),
    [
        ("tokens.json", b'["the", "cat"]', ("the", "cat")),
        ("t.json", b'{"tokens": ["the", "cat"], "layer": 3}', ("the", "cat")),
        ("t.npz", npz(tokens=np.array(["a", "b"])), ("a", "b")),
        ("ids.npy", npy(np.array([101, 7])), ("101", "7")),
    ],
)
def test_a_file_of_tokens_alone_is_read(file: str, data: bytes, tokens: tuple[str, ...]) -> None:
    read = read_file(file, data)
    assert (read.tokens, read.arrays) == (tokens, ())

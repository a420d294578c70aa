"""The catalogue is whole and right; the language is chosen by the reader and kept to one thread."""

import ast
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from attnviz import locale
from attnviz.locale.update import ROOT, empty, extract, read, sources, texts, update

PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def placeholders(text: str) -> set[str]:
    """Return the {placeholders} of a text; a translation may name one twice or in another order."""
    return set(PLACEHOLDER.findall(text))


def problems(template: Catalog, catalogue: Catalog) -> list[str]:
    """Return a line for each message missing, fuzzy, obsolete, untranslated or with other placeholders."""
    found = [f"obsolete: {key!r}" for key in catalogue.obsolete]
    found += [f"obsolete: {m.id!r}" for m in catalogue if m.id and m.id not in template]
    for wanted in template:
        if not wanted.id:
            continue  # the header
        message = catalogue.get(wanted.id, wanted.context)
        if message is None:
            found.append(f"missing: {wanted.id!r}")
        elif message.fuzzy:
            found.append(f"fuzzy: {wanted.id!r}")
        elif not all(texts(message.string)):
            found.append(f"untranslated: {wanted.id!r}")
        else:
            # The plural carries the number, which the singular may spell out ("one token").
            source = texts(wanted.id)[-1]
            for form in texts(message.string):
                if placeholders(form) != placeholders(source):
                    found.append(f"placeholders differ: {wanted.id!r} and {form!r}")
    return found


@pytest.mark.parametrize("lang", sorted(locale.CATALOGUES))
def test_the_catalogue_is_whole(lang: str) -> None:
    assert problems(extract(), read(locale.CATALOGUES[lang])) == [], "run python -m attnviz.locale.update"


@pytest.mark.parametrize("lang", sorted(locale.CATALOGUES))
def test_the_catalogue_stands_as_update_writes_it(lang: str, tmp_path: Path) -> None:
    folder = tmp_path / locale.CATALOGUES[lang].parts[-3] / "LC_MESSAGES"
    folder.mkdir(parents=True)
    copy = folder / "attnviz.po"
    copy.write_bytes(locale.CATALOGUES[lang].read_bytes())
    update(copy)
    assert copy.read_text(encoding="utf-8") == locale.CATALOGUES[lang].read_text(encoding="utf-8")


def test_no_message_stands_inside_an_f_string() -> None:
    """Babel does not look into one before Python 3.12."""
    inside = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"_", "n_"}
    ]
    assert inside == []


def test_messages_are_literal() -> None:
    """Babel passes over a message that is no plain string: it would never be translated."""
    strange = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"_", "n_"}:
                messages = node.args[: 1 if node.func.id == "_" else 2]
                if not all(isinstance(m, ast.Constant) and isinstance(m.value, str) for m in messages):
                    strange.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert strange == []


# ---- the check can fail ----


def catalogue(**translations: str) -> Catalog:
    made = Catalog(locale="zh_CN")
    for message, text in translations.items():
        made.add(message.replace("_", " "), text)
    return made


@pytest.mark.parametrize(
    ("template", "translated", "expected"),
    [
        (catalogue(cat=""), catalogue(cat="猫"), []),
        (catalogue(cat="", dog=""), catalogue(cat="猫"), ["missing: 'dog'"]),
        (catalogue(cat=""), catalogue(cat="猫", dog="狗"), ["obsolete: 'dog'"]),
        (catalogue(cat=""), catalogue(cat=""), ["untranslated: 'cat'"]),
        (catalogue(**{"{n} of {m}": ""}), catalogue(**{"{n} of {m}": "{m} 中的 {n}"}), []),
        (
            catalogue(**{"{n} of {m}": ""}),
            catalogue(**{"{n} of {m}": "{n}"}),
            ["placeholders differ: '{n} of {m}' and '{n}'"],
        ),
        (
            catalogue(**{"{n:.2f}": ""}),
            catalogue(**{"{n:.2f}": "{n}"}),
            ["placeholders differ: '{n:.2f}' and '{n}'"],
        ),
    ],
)
def test_problems_are_named(template: Catalog, translated: Catalog, expected: list[str]) -> None:
    assert problems(template, translated) == expected


def test_a_fuzzy_message_is_named() -> None:
    translated = catalogue()
    translated.add("cat", "猫", flags=["fuzzy"])
    assert problems(catalogue(cat=""), translated) == ["fuzzy: 'cat'"]


def test_the_plurals_placeholders_are_compared() -> None:
    template, translated = catalogue(), catalogue()
    template.add(("one token", "{n} tokens"))
    translated.add(("one token", "{n} tokens"), ("词元",))
    assert problems(template, translated) == ["placeholders differ: ('one token', '{n} tokens') and '词元'"]


# ---- update ----


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with one page and a catalogue in which one message is right and one obsolete."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "attnviz").mkdir()
    (tmp_path / "app.py").write_text('_("keep")\nother("not this")\n', encoding="utf-8")
    (tmp_path / "pages" / "a.py").write_text('n_("{n} cat", "{n} cats", 2)\n_("ne" "w")\n', encoding="utf-8")
    po = tmp_path / "zh_CN" / "LC_MESSAGES" / "attnviz.po"
    po.parent.mkdir(parents=True)
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
    po.write_text(header + 'msgid "keep"\nmsgstr "留"\n\nmsgid "kept"\nmsgstr "旧"\n', encoding="utf-8")
    return tmp_path


def test_update_keeps_adds_and_drops(project: Path) -> None:
    po = project / "zh_CN" / "LC_MESSAGES" / "attnviz.po"
    assert set(empty(update(po, project))) == {"{n} cat", "new"}
    again = read(po)
    assert {m.id: m.string for m in again if m.id} == {
        "keep": "留",
        "new": "",
        ("{n} cat", "{n} cats"): ("",),
    }
    assert "旧" not in po.read_text(encoding="utf-8")
    before = po.read_bytes()
    update(po, project)
    assert po.read_bytes() == before


# ---- choose, use, _ and n_ ----


@pytest.mark.parametrize(
    ("browser", "lang"),
    [
        ("zh", "zh"), ("zh-CN", "zh"), ("zh_TW", "zh"), ("ZH-Hant-HK", "zh"), ("en", "en"), ("en-GB", "en"),
        ("de", "en"), ("zha", "en"), ("", "en"), (None, "en"), ("*", "en"),
    ],
)  # fmt: skip
def test_choose(browser: str | None, lang: str) -> None:
    assert locale.choose(browser) == lang


def test_use_refuses_an_unknown_language() -> None:
    with pytest.raises(ValueError, match=r"lang: expected one of en, zh; got 'fr'"):
        locale.use("fr")
    assert locale.current() == "en"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, project: Path) -> Iterator[None]:
    """The small project's catalogue in place of the real one."""
    monkeypatch.setattr(locale, "CATALOGUES", {"zh": project / "zh_CN" / "LC_MESSAGES" / "attnviz.po"})
    locale._translations.cache_clear()
    yield
    locale._translations.cache_clear()


@pytest.mark.usefixtures("small")
def test_messages_follow_the_language_and_what_is_missing_stays_english() -> None:
    keep, absent = "keep", "absent"
    assert [locale._(keep), locale._(absent), locale._("")] == ["keep", "absent", ""]
    locale.use("zh")
    assert [locale._(keep), locale._(absent), locale._("")] == ["留", "absent", ""]
    assert locale.n_("{n} dog", "{n} dogs", 1) == "{n} dog"
    assert locale.n_("{n} dog", "{n} dogs", 0) == "{n} dogs"


@pytest.mark.usefixtures("small")
def test_a_plural_has_its_one_chinese_form(project: Path) -> None:
    po = project / "zh_CN" / "LC_MESSAGES" / "attnviz.po"
    update(po, project)
    text = po.read_text(encoding="utf-8").replace('msgstr[0] ""', 'msgstr[0] "{n} 只猫"')
    po.write_text(text, encoding="utf-8")
    locale.use("zh")
    assert [locale.n_("{n} cat", "{n} cats", n).format(n=n) for n in (1, 2)] == ["1 只猫", "2 只猫"]


@pytest.mark.usefixtures("small")
def test_a_language_is_one_threads_own() -> None:
    locale.use("zh")
    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(locale.current()))
    thread.start()
    thread.join()
    assert (seen, locale.current()) == (["en"], "zh")

"""Bring the catalogue of translations up to date with the code: python -m attnviz.locale.update

Extracts the messages of _() and n_() from app.py, pages/ and attnviz/ with Babel and writes the .po file
anew: translations are kept, new messages come with an empty msgstr to fill in, obsolete ones are dropped, and
nothing is guessed (a reworded message is a new one: copy what still holds from the diff).
tests/test_locale.py fails until every message is translated.
"""

from collections.abc import Sequence
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from attnviz.locale import CATALOGUES

ROOT = Path(__file__).parents[2]
KEYWORDS = {"_": None, "n_": (1, 2)}


def sources(root: Path = ROOT) -> list[Path]:
    """Return the files that may word something: app.py, pages/ and attnviz/, sorted."""
    return [path for path in (root / "app.py",) if path.exists()] + sorted(
        path for folder in ("pages", "attnviz") for path in (root / folder).rglob("*.py")
    )


def extract(root: Path = ROOT) -> Catalog:
    """Return a catalogue of all messages of the code under `root`, without translations.

    Comments that begin with "Translators:" above a message come along.
    """
    template = Catalog(project="attnviz")
    for path in sources(root):
        found = extract_from_file("python", path, keywords=KEYWORDS, comment_tags=("Translators:",))
        for line, message, comments, context in found:
            location = (path.relative_to(root).as_posix(), line)
            template.add(message, None, [location], auto_comments=comments, context=context)
    return template


def read(path: Path) -> Catalog:
    """Return the catalogue in a .po file, in the locale that its folder names."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def update(path: Path, root: Path = ROOT) -> Catalog:
    """Rewrite a .po file with the messages of the code under `root`, keep its translations, and return it."""
    catalogue = read(path)
    catalogue.update(extract(root), no_fuzzy_matching=True, update_creation_date=False)
    with path.open("wb") as file:
        # No line numbers: a change of code that words nothing new leaves the file as it is.
        write_po(file, catalogue, width=100, ignore_obsolete=True, include_previous=False, include_lineno=False)
    return catalogue


def empty(catalogue: Catalog) -> list[str]:
    """Return the messages, by their singular, that have no translation yet."""
    return [texts(m.id)[0] for m in catalogue if m.id and not all(texts(m.string))]


def texts(entry: str | Sequence[str | None] | None) -> list[str]:
    """Return what a catalogue keeps as one text, or as one for each plural form, as a list; none is ''."""
    return [entry or ""] if entry is None or isinstance(entry, str) else [form or "" for form in entry]


if __name__ == "__main__":
    for po in CATALOGUES.values():
        result = update(po)
        missing = empty(result)
        print(f"{po.relative_to(ROOT)}: {len(result)} messages, {len(missing)} to translate")
        for singular in missing:
            print(f"  {singular!r}")

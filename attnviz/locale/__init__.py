"""Language: _() words a message in the reader's language, which use() sets for this run of the script.

English stands in the code; the catalogue of another language is read the first time that language is used.
What the catalogue lacks stays English. After a change of wording: python -m attnviz.locale.update.
"""

import gettext
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from pathlib import Path

__all__ = ["LANGUAGES", "_", "choose", "current", "n_", "tag", "use"]

LANGUAGES = ("en", "zh")
CATALOGUES = {"zh": Path(__file__).parent / "zh_CN" / "LC_MESSAGES" / "attnviz.po"}

# A context variable, since every session runs in a thread of its own, and none may change another's language.
_language: ContextVar[str] = ContextVar("attnviz_language", default="en")


def use(lang: str) -> None:
    """Set the language of all that this thread or task words from now on.

    A new thread begins in English: call this at the top of each run, and in a callback or fragment that
    words things.
    Raises ValueError for a language that is not in LANGUAGES.

    >>> use("zh"); current()
    'zh'
    >>> use("en")
    """
    if lang not in LANGUAGES:
        raise ValueError(f"lang: expected one of {', '.join(LANGUAGES)}; got {lang!r}")
    _language.set(lang)


def current() -> str:
    """Return the language in use, one of LANGUAGES.

    >>> current()
    'en'
    """
    return _language.get()


def tag() -> str:
    """Return the language in use as HTML names it.

    >>> tag()
    'en'
    """
    return {"zh": "zh-CN"}.get(current(), current())


def choose(locale: str | None) -> str:
    """Return the language for a browser's locale: "zh" for any Chinese one, else "en".

    >>> choose("zh-Hant-TW"), choose("de-CH"), choose(None)
    ('zh', 'en', 'en')
    """
    primary = (locale or "").strip().lower().replace("_", "-").partition("-")[0]
    return "zh" if primary == "zh" else "en"


def _(message: str) -> str:
    """Return a message in the language in use; fill its {placeholders} afterwards.

    >>> _("{n} tokens").format(n=3)
    '3 tokens'
    """
    # gettext keeps the catalogue's header under the empty message.
    return _translations(current()).gettext(message) if message else message


def n_(singular: str, plural: str, n: int) -> str:
    """Return the form of a message that fits the number n; fill its {placeholders} afterwards.

    >>> n_("{n} token", "{n} tokens", 1).format(n=1)
    '1 token'
    """
    return _translations(current()).ngettext(singular, plural, n)


@lru_cache(maxsize=len(LANGUAGES))
def _translations(lang: str) -> gettext.NullTranslations:
    """Return the translations into a language, read once."""
    if lang not in CATALOGUES:
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo  # only where a catalogue is read: English needs no Babel
    from babel.messages.pofile import read_po

    with CATALOGUES[lang].open("rb") as file:
        catalogue = read_po(file, locale=CATALOGUES[lang].parts[-3])
    compiled = BytesIO()
    write_mo(compiled, catalogue)  # without fuzzy and untranslated messages: those stay English
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)

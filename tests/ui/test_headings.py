"""Titles of a page's parts are headings, and no bold line stands where a heading should."""

import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

UI = Path(__file__).parents[2] / "attnviz" / "ui"
BOLD_LINE = re.compile(r'st\.markdown\(f?(?:_\()?"\*\*(?:"| ?[^*]*\*\*"\)?\))')


def test_a_title_is_a_heading_of_the_level_of_a_block() -> None:
    def page() -> None:
        from attnviz.ui import headings

        headings.title("a \\* b")
        headings.line("**One element**: choose it")

    app = AppTest.from_function(page).run()
    assert [one.value for one in app.markdown] == ["## **a \\* b**", "## **One element**: choose it"]


def test_no_title_is_mere_bold_letters() -> None:
    for bold in ('st.markdown("**" + _("a") + "**")', 'st.markdown(f"**{words}**")', 'st.markdown(_("**The loop**"))'):
        assert BOLD_LINE.search(bold), bold
    assert not BOLD_LINE.search('st.markdown(_("**One**: and more"))')
    files = sorted(UI.rglob("*.py"))
    assert len(files) > 100
    assert [str(path) for path in files if BOLD_LINE.search(path.read_text(encoding="utf-8"))] == []


def test_no_other_markdown_has_a_heading_since_the_style_knows_titles_by_it() -> None:
    heading = re.compile(r'f?"#{1,6} ')
    assert [path.name for path in sorted(UI.rglob("*.py")) if heading.search(path.read_text(encoding="utf-8"))] == [
        "headings.py"
    ]

"""Hostile tokens, titles and links in programs and notebooks that are taken home: none of them is code or markup."""

import ast
from html.parser import HTMLParser

import nbformat
import pytest
from markdown_it import MarkdownIt

from attnviz import long
from attnviz.experiment import STEPS, View
from attnviz.export.notebook import notebook
from attnviz.export.program import About, script
from attnviz.export.python import cell_program
from attnviz.limits import NAME_CHARS
from attnviz.run import without_trace
from attnviz.ui import sentences
from tests.export.hostile import ABOUTS, HARMLESS, LINK, RUNS, TOKENS, WORDS, Tags, experiment
from tests.hostile import LINKS, MARKUP, SCRIPTS
from tests.ui.cells import explained, view_of


def shape(program: str) -> str:
    """The syntax of a program without its texts."""

    class Blank(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            return ast.Constant("") if isinstance(node.value, str) else node

    return ast.dump(Blank().visit(ast.parse(program)))


def tokens_in(program: str) -> object:
    (found,) = [
        node.value
        for node in ast.parse(program).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "tokens"
    ]
    return ast.literal_eval(found)


def comments(program: str) -> list[str]:
    return [line for line in program.splitlines() if line.startswith("#")]


def test_no_token_and_no_title_is_code_in_a_program() -> None:
    plain = script(HARMLESS, experiment(WORDS), RUNS["harmless"], View())
    for about in ABOUTS:
        text = script(about, experiment(TOKENS), RUNS["hostile"], View())
        assert shape(text) == shape(plain), about.title
        assert tokens_in(text) == [list(TOKENS)]
        assert len(comments(text)) == len(comments(plain)) and len(text.splitlines()) == len(plain.splitlines())
    assert shape(plain) != shape(plain + "\nimport os")


def test_no_token_is_code_in_the_program_of_a_long_text() -> None:
    made = experiment(WORDS)
    run = long.of(without_trace(made), made, 0, 1)
    plain = script(HARMLESS, made, run, View(h=1))
    text = script(ABOUTS[0], made, run._replace(tokens=(TOKENS,)), View(h=1))
    assert shape(text) == shape(plain) and tokens_in(text) == list(TOKENS)
    assert comments(text)[1:] == comments(plain)[1:] and len(text.splitlines()) == len(plain.splitlines())


@pytest.mark.parametrize("step", STEPS)
def test_no_token_is_code_in_the_program_of_a_cell(step: str) -> None:
    for i in range(len(TOKENS)):
        view = view_of(step, 0, 0, i, i % 4 if step in ("query", "key", "value", "output") else i)
        programs = [cell_program(explained(run, view), sentences.place(run, view)) for run in RUNS.values()]
        assert shape(programs[1]) == shape(programs[0])
        assert len(comments(programs[1])) == len(comments(programs[0])) == 1
        assert repr(TOKENS[i][:NAME_CHARS]) in programs[1]


# ---- the notebook ----

RENDERERS = [MarkdownIt("commonmark"), MarkdownIt("js-default")]  # HTML is let through by the first


def mathematics(marked: str) -> bool:
    """Whether a notebook finds the beginning of mathematics in what Markdown has made: not in code."""

    class Text(HTMLParser):
        code, words = 0, ""

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.code += tag == "code"

        def handle_endtag(self, tag: str) -> None:
            self.code -= tag == "code"

        def handle_data(self, data: str) -> None:
            self.words += "" if self.code else data

    text = Text()
    text.feed(marked)
    return "$" in text.words or "\\" in text.words


def test_no_title_and_no_token_is_markup_or_code_in_a_notebook() -> None:
    plain = nbformat.reads(notebook(HARMLESS, experiment(WORDS), RUNS["harmless"], View()), as_version=4)
    for about in ABOUTS:
        made = nbformat.reads(notebook(about, experiment(TOKENS), RUNS["hostile"], View()), as_version=4)
        nbformat.validate(made)
        assert [cell.cell_type for cell in made.cells] == [cell.cell_type for cell in plain.cells]
        for cell, other in zip(made.cells[1:], plain.cells[1:], strict=True):
            assert cell.cell_type != "code" or shape(cell.source) == shape(other.source)
            assert cell.cell_type != "markdown" or cell.source == other.source
        assert tokens_in(made.cells[2].source) == [list(TOKENS)]
        for render in RENDERERS:
            marked = render.render(made.cells[0].source)
            tags = Tags(marked)
            assert {tag for tag, *_ in tags.found} <= {"h1", "p", "a", "code"}, about.title
            # An address that is given as the link is one, no other.
            web = about.link.startswith("http")
            assert len(tags.addresses) == web and all(str(each).startswith(about.link[:8]) for each in tags.addresses)
            assert not mathematics(marked), about.title


def test_the_title_of_a_notebook_reads_as_it_is_and_its_link_leads_back() -> None:
    for title in (*SCRIPTS, *LINKS, *MARKUP):
        made = notebook(About(title, LINK, "1"), experiment(WORDS), RUNS["harmless"], View())
        marked = RENDERERS[0].render(nbformat.reads(made, as_version=4).cells[0].source)
        assert words_of(marked).splitlines()[0] == title
        assert Tags(marked).addresses == [LINK]
    assert mathematics("<p>$x$</p>") and mathematics("\\(x\\)") and not mathematics("<code>$</code>x")


def words_of(marked: str) -> str:
    class Text(HTMLParser):
        words = ""

        def handle_data(self, data: str) -> None:
            self.words += data

    text = Text()
    text.feed(marked)
    return text.words

"""A whole view as a notebook (.ipynb) that needs torch alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

import nbformat
from nbformat import v4

from attnviz.experiment import Experiment, Run, View
from attnviz.export.parts import Part
from attnviz.export.program import About, parts

_MATHS = re.compile(r"([$\\]+)")
_ADDRESS = "%/:?#[]@!&'()*+,;=~"  # signs that an address may hold; all others are written as their codes


def notebook(about: About, experiment: Experiment, run: Run, view: View) -> str:
    """Return the notebook's text: a cell of code for each step of the program, its words above it.

    Raises ValueError for a run that holds neither a trace nor a long text.

    >>> experiment = Experiment("the cat")
    >>> text = notebook(About("the cat", "", "1"), experiment, experiment.run(), View())
    >>> nbformat.reads(text, as_version=4).cells[0].source
    '# the cat\\n\\nattnviz 1'
    """
    return written(about, parts(experiment, run, view))


def written(about: About, parts: Sequence[Part]) -> str:
    """Return the parts of a program as a notebook."""
    title, *more = about.lines
    made = [v4.new_markdown_cell("\n\n".join([f"# {_literal(title)}", *map(_link, more)]))]
    for part in parts:
        made += [v4.new_markdown_cell(f"## {_literal(part.words)}"), v4.new_code_cell(part.code)]
    for number, cell in enumerate(made):
        cell.id = f"attnviz-{number}"  # the same notebook for the same view, not one drawn by chance
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = v4.new_notebook(cells=made, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    nbformat.validate(whole)
    text: str = nbformat.writes(whole)
    return text + "\n"


def _literal(line: str) -> str:
    """A line as a notebook's Markdown shows it as it is: no markup, no link and no HTML of its own.

    A notebook looks for mathematics in what Markdown has made, after its escapes are gone, but not in code.
    """
    maths = iter(_MATHS.split(line))  # what is none and what is, in turn
    return "".join(_escaped(words) + (f"`{sign}`" if (sign := next(maths, "")) else "") for words in maths)


def _escaped(words: str) -> str:
    return "".join(
        "\\" + c if c in "`*_{}[]()#+-.!|~:@" else {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(c, c) for c in words
    )


def _link(line: str) -> str:
    """A line that can be followed where it is the address of a page, escapes being none of an address."""
    return f"<{quote(line, safe=_ADDRESS)}>" if line.startswith(("http://", "https://")) else _literal(line)

"""The numbers of a view as files: the whole trace, or of a long text rows of it, as safetensors; one matrix as CSV."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from csv import QUOTE_NONNUMERIC
from numbers import Real
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from safetensors.torch import save

from attnviz.experiment import Run, View
from attnviz.export.figure import Figure, each_table
from attnviz.export.program import About
from attnviz.figures.panels import drawn
from attnviz.long import Long

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

_CSV_HEAD = 3  # lines above the table
# Where a spreadsheet would read a formula: at the start, and behind what some of them take for the end of a cell.
_FORMULA = re.compile(r"^(?=[=+\-@＝＋－＠\t\r\n])|(?<=[,;\t\r\n])(?=[=+\-@＝＋－＠])")


def safetensors(about: About, run: Run, view: View | None = None, *, lab: Mapping[str, Tensor] | None = None) -> bytes:
    """Return every tensor of a run: x (b, s, m), w_q, w_k, w_v, the mask, and the trace (b, h, s, ...).

    Of a long text they are those of its head and sequence: x (s, m), w_q, w_k, w_v, query, key and value whole; scores,
    scaled, masked, weights, output and the mask of the query tokens that `view` shows, (rows, u) or (rows, d).
    The file's metadata hold the title, the link and the version; of a long text also the sequence, the head, and the
    first and last query token, counted from 1. lab: what a lab computed, which stands under "lab." and its name.
    Raises ValueError for a run that holds neither a trace nor a long text.

    >>> from attnviz.experiment import Experiment
    >>> from safetensors.torch import load
    >>> load(safetensors(About("the cat", "", "1"), Experiment("the cat").run()))["weights"].shape
    torch.Size([1, 1, 2, 2])
    """
    tensors, places = _whole(run, lab) if run.long is None else _of_rows(run.long, view or View())
    tensors |= {f"lab.{name}": tensor.detach() for name, tensor in (lab or {}).items()}
    own = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}  # views share what a file may not
    metadata = {"title": about.title, "link": about.link, "version": f"attnviz {about.version}"}
    return save(own, metadata=metadata | places)


def _whole(run: Run, lab: Mapping[str, Tensor] | None) -> tuple[dict[str, Tensor], dict[str, str]]:
    if run.trace is None and lab is not None:
        return {}, {}
    if run.trace is None:
        raise ValueError("run.trace must be a trace, not None: the experiment is above limits.TRACE_BYTES")
    tensors = run.trace._asdict()
    given = {"x": run.x, "w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v}
    tensors |= {name: tensor for name, tensor in given.items() if tensor.numel()}
    return tensors | ({"mask": run.mask} if run.mask is not None else {}), {}


def _of_rows(held: Long, view: View) -> tuple[dict[str, Tensor], dict[str, str]]:
    rows = drawn("s", len(held.query), view)
    trace, mask = held.rows(rows.start, rows.stop), held.mask(rows.start, rows.stop)
    tensors = {name: held.matrix(name) for name in ("x", "w_q", "w_k", "w_v", "query", "key", "value")}
    tensors |= {name: getattr(trace, name) for name in ("scores", "scaled", "masked", "weights", "output")}
    tensors |= {"mask": mask} if mask is not None else {}
    places = {
        "sequence": held.b + 1,
        "head": held.h + 1,
        "first_query_token": rows.start + 1,
        "last_query_token": rows.stop,
    }
    return tensors, {name: str(place) for name, place in places.items()}


def csv(about: About, table: pd.DataFrame) -> str:
    """Return a matrix as CSV, its rows and columns named, below three lines with the title, link and version.

    pandas.read_csv(path, skiprows=3, index_col=0) reads it again, digit by digit. A name that a spreadsheet would
    take for a formula is made a text.

    >>> import pandas as pd
    >>> print(csv(About("a cat", "", "1"), pd.DataFrame([[0.5]], index=["1 cat"], columns=["=1+1"])))
    # a cat
    #
    # attnviz 1
    "","'=1+1"
    "1 cat",0.5
    <BLANKLINE>
    """
    lines = [_no_formula(about.title), about.link, f"attnviz {about.version}"]
    head = [_field(f"# {' '.join(line.split())}".rstrip()) for line in lines]
    assert len(head) == _CSV_HEAD
    safe = table.rename(index=_no_formula, columns=_no_formula)
    return "\n".join([*head, safe.to_csv(lineterminator="\n", quoting=QUOTE_NONNUMERIC)])


def zipped(about: About, figures: Sequence[Figure]) -> bytes:
    """Return every table of a lab as CSV, in one zip file: numbered in their order, and named by their figures."""
    held = io.BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED) as file:
        for n, (key, _i, name, make) in enumerate(each_table(figures), 1):
            text = csv(about._replace(title=f"{about.title} · {name}"), make())
            file.writestr(
                ZipInfo(f"{n:02}-{key}.csv"), text.encode(), ZIP_DEFLATED
            )  # without the time: always the same
    return held.getvalue()


def _no_formula(name: object) -> str:
    """A name as a text where a spreadsheet would take it for a formula; a number, negative or not, is none."""
    return str(name) if isinstance(name, Real) else _FORMULA.sub("'", str(name))


def _field(line: str) -> str:
    """A line as one field, in quotes where it needs them: an odd quote would draw the next lines into it."""
    return '"' + line.replace('"', '""') + '"' if set(line) & set(',;"') else line

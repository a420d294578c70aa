"""The numbers of a view as files: the whole trace as safetensors, one matrix as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safetensors.torch import save

from attnviz.experiment import Run
from attnviz.export.program import About

if TYPE_CHECKING:
    import pandas as pd

_CSV_HEAD = 3  # lines above the table


def safetensors(about: About, run: Run) -> bytes:
    """Return every tensor of a run: x (b, s, m), w_q, w_k, w_v, the mask, and the trace (b, h, s, ...).

    The file's metadata hold the title, the link and the version. Raises ValueError for a run without a trace.

    >>> from attnviz.experiment import Experiment
    >>> from safetensors.torch import load
    >>> load(safetensors(About("the cat", "", "1"), Experiment("the cat").run()))["weights"].shape
    torch.Size([1, 1, 2, 2])
    """
    if run.trace is None:
        raise ValueError("run.trace must be a trace, not None: the experiment is above limits.TRACE_BYTES")
    tensors = run.trace._asdict()
    given = {"x": run.x, "w_q": run.w_q, "w_k": run.w_k, "w_v": run.w_v}
    tensors |= {name: tensor for name, tensor in given.items() if tensor.numel()}
    tensors |= {"mask": run.mask} if run.mask is not None else {}
    own = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}  # views share what a file may not
    return save(own, metadata={"title": about.title, "link": about.link, "version": f"attnviz {about.version}"})


def csv(about: About, table: pd.DataFrame) -> str:
    """Return a matrix as CSV, its rows and columns named, below three lines with the title, link and version.

    pandas.read_csv(path, skiprows=3, index_col=0) reads it again, digit by digit. A name that a spreadsheet would
    take for a formula is made a text.

    >>> import pandas as pd
    >>> print(csv(About("a cat", "", "1"), pd.DataFrame([[0.5]], index=["1 cat"], columns=["=1+1"])))
    # a cat
    #
    # attnviz 1
    ,'=1+1
    1 cat,0.5
    <BLANKLINE>
    """
    lines = [about.title, about.link, f"attnviz {about.version}"]
    head = [f"# {' '.join(line.split())}".rstrip() for line in lines]
    assert len(head) == _CSV_HEAD
    safe = table.rename(index=_no_formula, columns=_no_formula)
    return "\n".join([*head, safe.to_csv(lineterminator="\n")])


def _no_formula(name: object) -> object:
    return "'" + name if isinstance(name, str) and name[:1] in ("=", "+", "-", "@", "\t", "\r") else name

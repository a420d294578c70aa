"""The labs: their pages and sections, and the questions that each asks. A new lab gets a line here."""

from typing import NamedTuple


class Lab(NamedTuple):
    """One lab: where it stands, and its questions by number with the code of the right answer and of a wrong one."""

    page: str
    section: str = ""
    questions: dict[int, tuple[str, str]] = {}  # noqa: RUF012  # read only
    board: bool = False  # its charts are the board's, whose tables stand elsewhere

    def __str__(self) -> str:
        return f"{self.page}-{self.section}".rstrip("-")

    @property
    def query(self) -> dict[str, str]:
        """The parameters of a link to it."""
        return {"section": self.section} if self.section else {}


LABS = (
    Lab("explore", "", {27: ("cell", "head")}, board=True),
    Lab("projections", "parameters", {1: ("same", "grow"), 2: ("same", "more")}),
    Lab("scores", "scale", {3: ("spread", "sum")}),
    Lab("output", "value", {8: ("weights", "x")}),
    Lab("roles", "lookup", {10: ("mix", "key")}),
    Lab("roles", "tables", {9: ("source", "same")}),
    Lab("roles", "order", {5: ("row", "column"), 25: ("two", "self")}),
    Lab("roles", "matrices", {6: ("mirror", "self"), 7: ("thin", "other")}),
    Lab("scores", "softmax", {4: ("u", "s"), 15: ("dropout", "mask")}),
    Lab(
        "scores", "masks", {11: ("leaks", "hidden"), 12: ("sums", "same"), 13: ("nan", "zero"), 14: ("shapes", "sides")}
    ),
    Lab("heads", "split", {19: ("same", "cut")}),
    Lab("heads", "shared", {26: ("cache", "merge")}),
    Lab("heads", "cross", {21: ("kv", "v")}),
    Lab("heads", "average", {23: ("flat", "sum")}),
    Lab("decoding", "", {22: ("again", "fixed")}),
    Lab("einsum", "", {20: ("sum", "mean")}),
    Lab("proof", "", {24: ("value", "always")}),
    Lab("positions", "", {16: ("same", "rows")}),
    Lab("positions", "terms", {17: ("width", "meet")}),
    Lab("positions", "rotation", {18: ("order", "paper")}),
    Lab(
        "training",
        "",
        {28: ("together", "previous"), 29: ("cliff", "even"), 30: ("cannot", "slower"), 31: ("worse", "same")},
        board=True,
    ),
)

"""A view of hostile tokens, and the same numbers with harmless words on them."""

from html.parser import HTMLParser

from attnviz.experiment import Experiment, Run
from attnviz.export.program import About
from attnviz.tokenizers import clean
from tests.hostile import HOSTILE

# What no text box brings, but the tokenizer of a trained model or a file may.
ODD = ("\n", "\r\n=1", "\t=1", "\u2028x", "\x85y", "a\x00b", " ", "a,=1+1", "a;@x", "-1", "＝1", '"\n"', '"""a')
TOKENS = tuple(map(clean, HOSTILE)) + ODD
WORDS = tuple(f"w{i}" for i in range(len(TOKENS)))
LINK = "http://localhost:8501/?text=a%3Cb%3E,+c&mask=causal"
FORMULAS = tuple("=+-@＝＋－＠\t\r\n")


def experiment(tokens: tuple[str, ...]) -> Experiment:
    return Experiment(" ".join(tokens), tokenizer="spaces", mask="causal", n_heads=2, positions="rope_half")


def run_of(tokens: tuple[str, ...]) -> Run:
    """The numbers of harmless words, so that files differ in nothing but words, with other tokens on them."""
    return experiment(WORDS).run()._replace(tokens=(tokens,))


RUNS = {"harmless": run_of(WORDS), "hostile": run_of(TOKENS)}
HARMLESS = About("the title", LINK, "1.2.3")
# As titles and links come: whole, and each alone, for one may undo what another did.
ABOUTS = [About(" ".join(TOKENS), LINK, "1.2.3"), *(About(each, each, "1.2.3") for each in TOKENS)]


class Tags(HTMLParser):
    """Each tag with the names of its attributes, the scripts, and the addresses that are named."""

    def __init__(self, marked: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.addresses: list[str | None] = []
        self.feed(marked)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _value in attrs)))
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "formaction", "srcdoc")]

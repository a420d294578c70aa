"""One reader's session of the app, driven as a browser drives it: pages, widgets, clicks, typed numbers, links."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from attnviz.experiment import Experiment, View
from attnviz.links import from_query
from tests.figures.reading import Figure, names, z

APP = Path(__file__).parents[2] / "app.py"
PAGES = ("explore", "projections", "scores", "output")
BLOCKS = {
    "explore": ("projections", "scores", "output"),
    "projections": ("projections",),
    "scores": ("scores",),
    "output": ("output",),
}
POPOVERS = ("more", "examples", "choose", "program", *(f"formulas:{block}" for block in BLOCKS["explore"]))
_SHARED = ("language", "sharing")  # widgets of app.py: a browser forgets all others when the page changes


class WarmPagesManager(PagesManager):
    """As on a server that has shown a page: Streamlit takes a folder `pages` for its older kind of app until then.

    AppTest is always a server that has just started; test_start.py has the tests of that.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        PagesManager.uses_pages_directory = False


class Session:
    """A reader in front of the app."""

    def __init__(self, page: str = "explore", /, *, locale: str = "en-US", theme: str = "light", **query: Any) -> None:
        self.at = AppTest.from_file(str(APP), default_timeout=300)
        self.at.context.update(locale=locale, theme=theme)
        self.at.query_params.update(query)
        self.at._page_hash = calc_hash(page)
        self.page = page
        self.at.run()

    # ---- what is drawn ----

    @property
    def figures(self) -> dict[str, Figure]:
        """The chart of each block."""
        charts = self.at.get("plotly_chart")
        return {b: json.loads(c.proto.spec) for b, c in zip(BLOCKS[self.page], charts, strict=True)}

    def charts(self) -> dict[str, Figure]:
        """Every chart of a lab by its key."""
        charts = self.at.get("plotly_chart")
        return {chart.proto.id.rpartition("-chart-")[2]: json.loads(chart.proto.spec) for chart in charts}

    def maps(self) -> dict[str, Any]:
        """The numbers of every map of a lab, by name."""
        return {name: z(figure, name) for figure in self.charts().values() for name in names(figure)}

    def numbers(self) -> dict[str, Any]:
        """The numbers of every panel drawn, by name."""
        return {name: z(figure, name) for figure in self.figures.values() for name in names(figure)}

    @property
    def experiment(self) -> Experiment:
        """What the session computes."""
        held: Experiment = self.at.session_state["experiment"]
        return held

    @property
    def view(self) -> View:
        """Where the session looks."""
        held: View = self.at.session_state["view"]
        return held

    @property
    def link(self) -> str:
        """The query string that the address bar holds."""
        query: str = self.bridge["query"]
        return query

    @property
    def linked(self) -> tuple[Experiment, View]:
        """What somebody else sees who opens the link."""
        return from_query(self.link)

    @property
    def bridge(self) -> dict[str, Any]:
        """What the page tells the browser's side of the bridge."""
        (found,) = [e for e in self.at.get("bidi_component") if e.key == "bridge"]
        data: dict[str, Any] = json.loads(found.proto.json)
        return data

    def words(self) -> str:
        """All that is said, in Markdown: text, captions, warnings and news."""
        at = self.at
        kinds: list[Any] = [at.markdown, at.caption, at.warning, at.info, at.error, at.header, at.title]
        return "\n".join(str(element.value) for kind in kinds for element in kind)

    def tables(self) -> list[pd.DataFrame]:
        """Every small table, as text."""
        found = []
        for body in self.html("attnviz-table"):
            head, *rows = [
                ["".join(cell.itertext()).strip() for cell in row] for row in ElementTree.fromstring(body).iter("tr")
            ]
            found.append(pd.DataFrame(rows, columns=head))
        return found

    def html(self, holds: str) -> list[str]:
        """All that is drawn as HTML of our own and holds this text."""
        return [e.proto.body for e in self.at.get("html") if holds in e.proto.body]

    def said(self) -> list[str]:
        """The sentences in boxes: warnings, news and errors."""
        return [str(e.value) for kind in (self.at.warning, self.at.info, self.at.error) for e in kind]

    def sound(self) -> bool:
        """Say whether the page ran to its end; pytest shows what did not."""
        assert [e.value for e in self.at.exception] == []
        assert len(self.at.title) == 1
        return True

    # ---- what the reader does ----

    def widget(self, key: str) -> Any:
        """Return the widget of a field, which a popover may hide."""
        found = self._find(key)
        if found is None:
            self.open(*POPOVERS)
            found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found

    def _find(self, key: str) -> Any:
        # A translated widget has the language in its key; some have what they do.
        for element in self.at:
            found = str(getattr(element, "key", None) or "")
            if hasattr(element, "set_value") and key in (found, found.rpartition(".")[0], found.partition(":")[2]):
                return element
        return None

    def set(self, key: str, value: Any) -> "Session":
        """Give a widget a value."""
        self.widget(key).set_value(value)
        self.at.run()
        return self._whole()

    def press(self, key: str) -> "Session":
        """Press a button."""
        self.widget(key).click()
        self.at.run()
        return self._whole()

    def open(self, *keys: str) -> "Session":
        """Open expanders and popovers, which compute only when they are open."""
        for key in keys:
            self.at.session_state[key] = True
        self.at.run()
        return self

    def open_tables(self) -> "Session":
        """Open every figure's table, in a box of their own or in that of what is taken home."""
        for language in ("en", "zh"):
            self.at.session_state[f"home_part.{language}"] = "tables"
        return self.open("home", "tables")

    def go(self, page: str) -> "Session":
        """Go to another page."""
        states = self.at._tree.get_widget_states()
        kept = [state for state in states.widgets if state.id.endswith(tuple("-" + key for key in _SHARED))]
        self.at._page_hash = calc_hash(page)
        self.at._run(WidgetStates(widgets=kept))
        self.page = page
        return self

    def click(self, panel: str, row: int, column: int) -> "Session":
        """Click a cell of a chart."""
        (bridge,) = [e for e in self.at.get("bidi_component") if e.key == "bridge"]
        happened = json.dumps([{"event": "cell", "value": {"name": panel, "row": row, "col": column}}])
        return self._with(f"$$STREAMLIT_INTERNAL_KEY_{bridge.proto.id}__events", json_trigger_value=happened)

    def type(self, row: int, column: str, value: Any) -> "Session":
        """Type a number into the editor that is open."""
        (grid,) = [e for e in self.at.dataframe if e.proto.id.partition("-grid.")[1]]
        edited = {"edited_rows": {str(row): {column: value}}, "added_rows": [], "deleted_rows": []}
        return self._with(grid.proto.id, string_value=json.dumps(edited))

    def _with(self, widget: str, **value: Any) -> "Session":
        states = self.at._tree.get_widget_states()
        states.widgets.append(WidgetState(id=widget, **value))
        self.at._run(states)
        return self._whole()

    def _whole(self) -> "Session":
        """See the whole page after a run of the lab alone, of which AppTest keeps nothing else: a browser does."""
        if not len(self.at.title) and not len(self.at.exception):
            self.at.run()
        return self

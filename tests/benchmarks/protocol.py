"""A session in Streamlit's own protocol, without a browser: what it was sent, and the messages that change a widget."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE = 60.0  # seconds for a run
# The field of WidgetState that carries the value of each kind of widget.
FIELDS = {
    "text_input": "string_value",
    "text_area": "string_value",
    "number_input": "double_value",
    "checkbox": "bool_value",
    "slider": "double_array_value",
    "button_group": "string_array_value",
}


def user_key(element_id: str) -> str:
    """Return the key that the app gave an element, or "" where it gave none.

    >>> user_key("$$ID-0123456789abcdef0123456789abcdef-text_line")
    'text_line'
    """
    key = element_id.split("-", 2)[2] if element_id.count("-") >= 2 else ""
    return "" if key == "None" else key


@dataclass
class Session:
    """One person's session: the elements of the page by their key, and the values of the widgets."""

    socket: ClientConnection
    query: str
    page: str = ""  # the hash of the page's script, as the server names it
    name: str = ""  # of the page that is opened first; the landing page's is empty
    begun: NewSession | None = None  # what the server said about the app, at the last run
    elements: dict[str, Element] = field(default_factory=dict)
    fragments: dict[str, str] = field(default_factory=dict)  # key -> the fragment that drew it
    states: dict[str, WidgetState] = field(default_factory=dict)
    figure_at: float = 0.0  # when the last figure came, by time.perf_counter()
    n_exceptions: int = 0
    n_bytes: int = 0

    async def run(self, key: str = "", value: Any = None) -> None:
        """Set a widget, or none, and return when the run that follows has finished.

        value: what the widget holds; the labels of a choice as a list; {name: value} for what a component triggers.
        """
        trigger = None
        if key and self.elements[key].WhichOneof("type") == "bidi_component":
            trigger = _trigger(self.elements[key].bidi_component.id, value)
        elif key:
            self._set(self.elements[key], value)
        await self.socket.send(self._message(self.fragments.get(key, ""), trigger))
        finished = False
        while not finished:
            data = await asyncio.wait_for(self.socket.recv(decode=False), PATIENCE)
            self.n_bytes += len(data)
            finished = self._take(data)

    def _message(self, fragment: str, trigger: WidgetState | None) -> bytes:
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.page_script_hash, run.fragment_id = self.query, self.page, fragment
        run.widget_states.widgets.extend([*self.states.values(), *([trigger] if trigger else [])])
        run.page_name = "" if self.page else self.name
        run.context_info.locale, run.context_info.timezone = "en-US", "UTC"
        run.context_info.color_scheme = "light"
        data: bytes = message.SerializeToString()
        return data

    def _take(self, data: bytes) -> bool:
        """Note what a message draws; True when the run has ended."""
        message = ForwardMsg.FromString(data)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.begun, self.page = message.new_session, message.new_session.page_script_hash
        if kind == "navigation":
            self.page = message.navigation.page_script_hash
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._draw(message.delta.new_element, message.delta.fragment_id)
        return kind == "script_finished" and bool(message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN)

    def _draw(self, element: Element, fragment: str) -> None:
        kind = element.WhichOneof("type")
        if kind is None:
            return
        if kind == "plotly_chart":
            self.figure_at = time.perf_counter()
        if kind == "exception":
            self.n_exceptions += 1
        proto = getattr(element, kind)
        key = user_key(getattr(proto, "id", ""))
        if key:
            self.elements[key], self.fragments[key] = element, fragment
        if kind in FIELDS and proto.id not in self.states:
            self._set(element, _first_value(kind, proto))
        elif kind in FIELDS and getattr(proto, "set_value", False):
            self._set(element, _value(kind, proto))

    def _set(self, element: Element, value: Any) -> None:
        kind = element.WhichOneof("type")
        assert kind is not None
        proto = getattr(element, kind)
        state = WidgetState(id=proto.id)
        target = FIELDS[kind]
        if kind == "number_input" and proto.data_type == NumberInput.INT:
            target, value = "int_value", int(value)
        if target.endswith("array_value"):
            getattr(state, target).data.extend(value)
        else:
            setattr(state, target, value)
        self.states[proto.id] = state


def _first_value(kind: str, proto: Any) -> Any:
    if getattr(proto, "set_value", False):
        return _value(kind, proto)
    if kind == "button_group":
        return [proto.options[i].content for i in proto.default]
    return list(proto.default) if kind == "slider" else proto.default


def _value(kind: str, proto: Any) -> Any:
    if kind == "button_group":
        return list(proto.raw_values)
    return list(proto.value) if kind == "slider" else proto.value


def _trigger(component: str, value: dict[str, Any]) -> WidgetState:
    """Return what a v2 component sends when its script calls setTriggerValue(name, value), for {name: value}."""
    sent = [{"event": name, "value": each} for name, each in value.items()]
    return WidgetState(id=f"$$STREAMLIT_INTERNAL_KEY_{component}__events", json_trigger_value=json.dumps(sent))


async def open_session(url: str, query: str = "", *, page: str = "", cookie: str = "") -> Session:
    """Connect to an app of this machine and return when its first run has finished."""
    address = url.replace("http", "ws", 1) + "/_stcore/stream"
    socket = await connect(
        address,
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        compression=None,
        additional_headers={"Cookie": cookie} if cookie else None,
        open_timeout=PATIENCE,
        proxy=None,  # this machine only
    )
    session = Session(socket, query, name=page)
    await session.run()
    return session

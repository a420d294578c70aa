"""The files of a session: read into its memory, and there until they are removed or the tab is closed."""

from __future__ import annotations

from typing import Any, NamedTuple

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.limits import FILES_BYTES, FILES_HELD, MODEL_MEMORY
from attnviz.models.files import Named, Tensors, read_file
from attnviz.models.files_examples import example
from attnviz.models.files_refused import FileRefused
from attnviz.models.memory import free_memory
from attnviz.ui import linked, state
from attnviz.ui.tensors import guessed, words

_FILES, _VERSION, _REFUSED, _INBOX = "_tensor_files", "_tensor_version", "_tensor_refused", "_tensor_inbox"
_CORRECTED, _GUESSED = "_tensor_roles", "_tensor_guessed"
TIMES = 3  # as much memory as a file has bytes is taken while it is read


class File(NamedTuple):
    """One file that was read."""

    name: str
    tensors: Tensors

    @property
    def n_bytes(self) -> int:
        """Bytes of its numbers."""
        return sum(each.tensor.nbytes for each in self.tensors.arrays)


class Held(NamedTuple):
    """All arrays of a session, by what they are called, what they are guessed to be, and their tokens."""

    version: int  # another one whenever the files are others
    arrays: dict[str, Named]
    roles: dict[str, str]  # the guess: the name of the array of each role
    tokens: tuple[tuple[str, ...], ...]  # of each file that has some, the newest first


def files() -> tuple[File, ...]:
    """Return the files that are held."""
    found: tuple[File, ...] = st.session_state.get(_FILES, ())
    return found


def inbox() -> str:
    """Return the key of the box for files; a new one whenever it was emptied."""
    return f"tensors:{st.session_state.get(_INBOX, 0)}"


def refusals() -> list[tuple[str, dict[str, object]]]:
    """Return why files of the last lot were not taken."""
    found: list[tuple[str, dict[str, object]]] = st.session_state.get(_REFUSED, [])
    return found


def take(uploaded: list[Any]) -> None:
    """Read what came into the box, empty it, and let the page begin again."""
    as_linked = linked.is_unchanged() and state.view().lab.brought and not files()  # a link waits for them
    said: list[tuple[str, dict[str, object]]] = []
    for each in uploaded:
        try:
            _add(each.name, each.getvalue(), as_linked)
        except FileRefused as error:
            said.append(words.check(error))
        _drop(each.file_id)
    st.session_state[_REFUSED] = said
    st.session_state[_INBOX] = st.session_state.get(_INBOX, 0) + 1
    state.again()


def _add(name: str, data: bytes, as_linked: bool) -> None:
    held = tuple(file for file in files() if file.name != name)  # a file of the same name takes its place
    if len(held) >= FILES_HELD:
        raise FileRefused("files", file=name, most=FILES_HELD)
    free = free_memory()
    if free is not None and TIMES * len(data) > MODEL_MEMORY * free:
        raise FileRefused("memory", file=name)
    try:
        file = File(name, read_file(name, data))
    except MemoryError:
        raise FileRefused("memory", file=name) from None
    if sum(each.n_bytes for each in (*held, file)) > FILES_BYTES:
        raise FileRefused("room", file=name, most=FILES_BYTES)
    _put((*held, file))
    state.keep(brought=True, example="none")
    if not as_linked:
        state.keep(labels="")
    if file.tensors.arrays:
        if not as_linked:
            state.keep(layer=0, head=0, sample=0, axes="auto")
        correct(None)


def _put(held: tuple[File, ...]) -> None:
    st.session_state[_FILES] = held
    st.session_state[_VERSION] = st.session_state.get(_VERSION, 0) + 1


def corrected() -> dict[str, str | None]:
    """Return the arrays that the reader chose by role, since the newest file came; None for a role of none."""
    found: dict[str, str | None] = st.session_state.get(_CORRECTED, {})
    return found


def correct(role: str | None, name: str | None = None) -> None:
    """Give a role to an array, or to none; no role: forget what was chosen."""
    st.session_state[_CORRECTED] = {} if role is None else corrected() | {role: name}


def _drop(file_id: str) -> None:
    """Give back what Streamlit keeps of an upload: its numbers are held already."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(session_id=context.session_id, file_id=file_id)


def remove(i: int) -> None:
    """Forget a file. A callback."""
    held = files()
    _put(held[:i] + held[i + 1 :])
    correct(None)
    st.session_state[_REFUSED] = []
    if len(held) == 1:
        state.keep(brought=False)


def show_example(code: str) -> None:
    """Take an example in place of files, which are held. A callback."""
    st.session_state[_REFUSED] = []
    correct(None)
    state.set_lab(example=code, layer=0, head=0, sample=0, axes="auto", labels="", given_mask="file")


def now() -> Held | None:
    """Return the arrays of the example that is asked for, else of the files; None where there are none."""
    code, version = state.view().lab.example, st.session_state.get(_VERSION, 0)
    if code != "none":
        made = example(code)
        arrays = {each.name: each for each in made.arrays}
        return Held(version, arrays, guessed.roles([arrays]), (made.tokens,) if made.tokens else ())
    if not files():
        return None
    lots = _named()
    if st.session_state.get(_GUESSED, (None,))[0] != version:  # it looks at every number
        st.session_state[_GUESSED] = (version, guessed.roles(lots))
    arrays = {name: each for lot in reversed(lots) for name, each in lot.items()}
    tokens = tuple(file.tensors.tokens for file in reversed(files()) if file.tensors.tokens)
    return Held(version, arrays, st.session_state[_GUESSED][1], tokens)


def _named() -> list[dict[str, Named]]:
    """The arrays of each file, by a name that no other has: of several files, with the file's before it."""
    several = sum(bool(file.tensors.arrays) for file in files()) > 1
    known: set[str] = set()
    lots = []
    for file in files():
        lot: dict[str, Named] = {}
        for each in file.tensors.arrays:
            name = _unlike(f"{file.name}: {each.name}" if several else each.name, known)
            known.add(name)
            lot[name] = each
        lots.append(lot)
    return lots


def _unlike(name: str, known: set[str]) -> str:
    """A name that none has yet."""
    number = 2
    while name in known:
        name, number = f"{name} ({number})", number + 1
    return name

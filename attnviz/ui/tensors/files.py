"""The box for files, the examples, and how such a file is made."""

from __future__ import annotations

import streamlit as st

from attnviz.figures.text import markdown
from attnviz.limits import FILE_BYTES, FILES_BYTES
from attnviz.locale import _, n_
from attnviz.models.files import KINDS
from attnviz.models.files_examples import EXAMPLES, example, to_npz, to_safetensors
from attnviz.ui import state
from attnviz.ui.tensors import held, words
from attnviz.ui.tensors.words import MEGABYTE

SAVE = """import numpy as np  # in your forward pass, where q, k, v, mask, weights and output are tensors

arrays = dict(q=q, k=k, v=v, mask=mask, weights=weights, output=output)
np.savez("layer.npz", tokens=tokens, **{name: x.detach().cpu().numpy() for name, x in arrays.items()})

# or, for bfloat16 too
from safetensors.torch import save_file
save_file({name: x.detach().contiguous() for name, x in arrays.items()}, "layer.safetensors")
"""


def show() -> None:
    """Draw the box, what is held, and the examples."""
    uploaded = st.file_uploader(
        _("Drop the tensors of your attention layer here: {kinds}").format(kinds=", ".join(KINDS)),
        accept_multiple_files=True,
        max_upload_size=FILE_BYTES // MEGABYTE,
        key=held.inbox(),
    )
    if uploaded:
        held.take(list(uploaded))
    with st.container():  # always there, so that what follows stands still while files come and go
        for code, values in held.refusals():
            st.error(words.refused(code, values))
    st.caption(
        _(
            "At most {one} MB a file and {all} MB of numbers in all. They are kept in this server's memory, for this "
            "tab alone, until you remove the file or close the tab; they are never written to disk, nor put into a "
            "link. Nothing in a file is run."
        ).format(one=FILE_BYTES // MEGABYTE, all=FILES_BYTES // MEGABYTE)
    )
    with st.container():
        _list()
    _examples()


def _list() -> None:
    """Draw the files that are held, each with what removes it."""
    for i, file in enumerate(held.files()):
        said = f"**{markdown(file.name)}** · {_held(file)}"
        if file.tensors.left_out:
            names = ", ".join(markdown(name) for name in file.tensors.left_out[:8])
            said += " · " + _("left out, for they have fewer than 2 or more than 5 axes: {names}").format(names=names)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(said, width="content")
            st.button(_("Remove"), key=f"remove:{i}", on_click=held.remove, args=(i,))


def _held(file: held.File) -> str:
    """What a file holds: its arrays or, where it has none, its tokens."""
    n_arrays, n_tokens = len(file.tensors.arrays), len(file.tensors.tokens or ())
    if not n_arrays:
        return n_("{n} token", "{n} tokens", n_tokens).format(n=n_tokens)
    return n_("{n} array", "{n} arrays", n_arrays).format(n=n_arrays) + f" · {_size(file.n_bytes)}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / MEGABYTE:.1f} MB" if n_bytes >= MEGABYTE / 10 else f"{n_bytes / 1024:.1f} kB"


def _names() -> dict[str, str]:
    return {
        "right": _("a layer that is right"),
        "scale": _("no scale"),
        "axis": _("softmax over the wrong axis"),
        "swapped": _("K and V swapped"),
        "late": _("causal mask one off"),
        "sigmoid": _("something else"),
        "maps": _("weights alone, 3 layers × 4 heads"),
    }


def _examples() -> None:
    """Offer layers that are computed on the spot."""
    code, names = state.view().lab.example, _names()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_("Try an example:"), width="content")
        for each in EXAMPLES:
            st.button(
                names[each],
                key=f"example:{each}",
                type="primary" if each == code else "secondary",
                on_click=held.show_example,
                args=(each,),
            )
        if code != "none" and held.files():
            st.button(_("Back to your files"), key="example:none", on_click=held.show_example, args=("none",))
    with st.container(horizontal=True, vertical_alignment="center"):
        how = st.popover(_("How do I save such a file?"), key="how_to_save", on_change="rerun")
        if how.open:
            how.code(SAVE, language="python")
        if code != "none":
            for kind, pack in (("npz", to_npz), ("safetensors", to_safetensors)):
                st.download_button(
                    _("This example as .{kind}").format(kind=kind),
                    lambda pack=pack: pack(example(code)),  # type: ignore[misc]
                    file_name=f"attnviz-{code}.{kind}",
                    mime="application/octet-stream",
                    key=f"take:{kind}",
                    on_click="ignore",
                )

"""The diagnosis of a layer: as much of it as fits, off the threads that answer readers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import streamlit as st
import torch
from torch import Tensor

from attnviz.core.diagnosis import Diagnosis, diagnose, diagnose_weights
from attnviz.figures.text import markdown
from attnviz.limits import DIAGNOSED_WEIGHTS
from attnviz.locale import _
from attnviz.models.files_axes import as_claimed
from attnviz.ui.tensors import assumed, report, waiting
from attnviz.ui.tensors.given import Given
from attnviz.ui.tensors.jobs import Work


class Scope(NamedTuple):
    """The part of a layer that is diagnosed at once."""

    samples: slice
    heads: slice


def show(given: Given) -> Diagnosis | None:
    """Say what is wrong with the layer, and return it; None where there is nothing to say, or not yet."""
    if given.brought.weights is None and given.brought.output is None:
        st.info(
            _(
                "There are no weights and no output to compare: what is drawn below is what attention(q, k, v) makes "
                "of your queries and keys."
            )
        )
        return None
    scope = _scope(given)
    if scope is None:
        st.info(
            _("Maps of {s} × {u} tokens are too large to be diagnosed: save the first {n} tokens alone.").format(
                s=len(given.queries), u=len(given.keys), n=f"{math.isqrt(DIAGNOSED_WEIGHTS):,}"
            )
        )
        return None
    asked: Any = (given.name, given.layer, str(scope))
    try:
        found: Diagnosis | None = waiting.result("diagnosis", asked, _work(given, scope))
    except ValueError as error:  # what was not foreseen: the core says what does not fit
        st.warning(_("These arrays cannot be diagnosed: {why}").format(why=markdown(str(error))))
        return None
    if found is not None:
        report.show(given, found, (scope.samples.start or 0, scope.heads.start or 0))
        if given.assumed:
            st.markdown(assumed.words(given.assumed))
        if scope != Scope(slice(None), slice(None)):
            st.caption(
                _("The layer is too large to be diagnosed at once: this is said of the chosen sequence.")
                if scope.heads == slice(None)
                else _("The layer is too large to be diagnosed at once: this is said of the chosen head.")
            )
    return found


def _scope(given: Given) -> Scope | None:
    """As much as fits: the layer, the chosen sequence, the chosen head, or nothing."""
    _l, n_samples, n_heads, n_query = given.brought.main.shape[:4]
    each = n_query * len(given.keys)
    if n_samples * n_heads * each <= DIAGNOSED_WEIGHTS:
        return Scope(slice(None), slice(None))
    b, h = (slice(at, at + 1) for at in (given.sample, given.head))
    if n_heads * each <= DIAGNOSED_WEIGHTS:
        return Scope(b, slice(None))
    return Scope(b, h) if each <= DIAGNOSED_WEIGHTS else None


def _work(given: Given, scope: Scope) -> Work:
    """What the worker does: diagnose with queries and keys, else what the weights alone tell."""
    brought, layer, mask = given.brought, given.layer, given.mask()
    mask = None if mask is None else _cut(mask, scope)
    weights = None if brought.weights is None else _cut(brought.weights[layer], scope)
    if brought.query is None or brought.key is None:
        return lambda tell: diagnose_weights(_floating(weights), mask)
    query = brought.query[layer, scope.samples]
    key, value = brought.key[layer, scope.samples], brought.value
    value = torch.zeros_like(key[..., :1]) if value is None else value[layer, scope.samples]
    if scope.heads != slice(None):
        shared = given.head * key.shape[1] // query.shape[1]
        query, key, value = query[:, scope.heads], *(x[:, shared : shared + 1] for x in (key, value))
    output = None if brought.output is None else _cut(brought.output[layer], scope)
    n_heads = query.shape[1]
    return lambda tell: diagnose(  # of one dtype, as bring() makes them
        query,
        key,
        value,
        weights=None if weights is None else as_claimed(_floating(weights), n_heads),
        output=None if output is None else as_claimed(_floating(output), n_heads),
        mask=mask,
        scale=given.scale,
        softcap=given.softcap,
        rotary=given.rotary,
        d_model=given.lab.given_d_model or None,
        progress=tell,
    )


def _cut(x: Tensor, scope: Scope) -> Tensor:
    """A part of (b, h, s, ·), whose axes may be of size 1."""
    x = x[scope.samples] if len(x) > 1 else x
    return x[:, scope.heads] if x.shape[1] > 1 else x


def _floating(x: Tensor | None) -> Tensor:
    assert x is not None
    return x if x.is_floating_point() else x.float()

"""The line of torch code that makes a mistake, as it probably stands, and the line that should stand there.

The lines belong to one short program, whose right statements are PROGRAM: queries, keys and values (b, h, s, k) in,
weights (b, h, s, u) and output (b, h, s, d) out. Where a cause is a line too many, the right one is empty; where a
line is missing, the wrong one is. `rotate` and `Rotary` are those of attnviz.core.rotary, `F` is torch.nn.functional.
"""

from __future__ import annotations

from typing import NamedTuple

# Every statement by its place, in the order in which they run.
PROGRAM: dict[str, str] = {
    "chunk": "",
    "split": "",
    "rotary": "",
    "repeat": "",
    "scores": "scores = q @ k.transpose(-2, -1)",
    "scaled": "scaled = scores / math.sqrt(d_k)",
    "softcap": "",
    "mask": "",
    "masked": "masked = scaled.masked_fill(~mask, -math.inf)",
    "weights": "weights = torch.softmax(masked, dim=-1)",
    "after": "",
    "output": "output = weights @ v",
    "merge": "",
}
_SPLIT = "q, k, v = (x.view(b, -1, h, d_k).transpose(1, 2) for x in (q, k, v))"
_ROTATED = "q, k = rotate(q, {rotary}), rotate(k, {rotary})"
_OTHER = "q, k = rotate(q, {other}), rotate(k, {other})"
_CAP = "scaled = {cap} * torch.tanh(scaled / {cap})"
_CAUSAL = "mask = torch.ones(s, u, dtype=torch.bool).tril({offset})"
_CAUSAL_WRONG = "mask = torch.ones(s, u, dtype=torch.bool).tril({wrong_offset})"
_MASKED, _WEIGHTS = PROGRAM["masked"], PROGRAM["weights"]
_NO_NAN = "weights = torch.softmax(masked, dim=-1).nan_to_num(0.0)"


class Lines(NamedTuple):
    """One statement of the program twice: with the mistake, and right."""

    place: str  # of PROGRAM
    wrong: str
    right: str


LINES: dict[str, Lines] = {
    "heads_viewed": Lines("split", "q, k, v = (x.view(b, h, -1, d_k) for x in (q, k, v))", _SPLIT),
    "heads_strided": Lines("split", "q, k, v = (x.view(b, -1, d_k, h).permute(0, 3, 1, 2) for x in (q, k, v))", _SPLIT),
    "qk_swapped": Lines("scores", "scores = k @ q.transpose(-2, -1)", PROGRAM["scores"]),
    "kv_swapped": Lines("chunk", "q, v, k = qkv.unbind(0)", "q, k, v = qkv.unbind(0)"),
    "rotary_missing": Lines("rotary", "", _ROTATED),
    "rotary_layout": Lines("rotary", _OTHER, _ROTATED),
    "rotary_extra": Lines("rotary", _ROTATED, ""),
    "rotary_on_value": Lines("rotary", "v = rotate(v, {rotary})", ""),
    "kv_heads_tiled": Lines(
        "repeat",
        "k, v = (x.repeat(1, h // x.shape[1], 1, 1) for x in (k, v))",
        "k, v = (x.repeat_interleave(h // x.shape[1], dim=1) for x in (k, v))",
    ),
    "scale_missing": Lines("scaled", "scaled = scores", "{scaled}"),
    "scale_d_k": Lines("scaled", "scaled = scores / d_k", "{scaled}"),
    "scale_sqrt_d_model": Lines("scaled", "scaled = scores / math.sqrt(d_model)", "{scaled}"),
    "scale_twice": Lines("scaled", "{scaled_twice}", "{scaled}"),
    "scale_inverted": Lines("scaled", "scaled = scores * math.sqrt(d_k)", "{scaled}"),
    "scale_other": Lines("scaled", "scaled = scores * {value}", "{scaled}"),
    "softcap_missing": Lines("softcap", "", _CAP),
    "softcap_extra": Lines("softcap", _CAP, ""),
    "mask_missing": Lines("masked", "masked = scaled", _MASKED),
    "mask_extra": Lines(
        "masked",
        "masked = scaled.masked_fill(torch.ones(s, u, dtype=torch.bool).triu(1), -math.inf)",
        "masked = scaled",
    ),
    "mask_inverted": Lines("masked", "masked = scaled.masked_fill(mask, -math.inf)", _MASKED),
    "mask_transposed": Lines("masked", "masked = scaled.masked_fill(~mask.transpose(-2, -1), -math.inf)", _MASKED),
    "mask_added_as_one": Lines("masked", "masked = scaled + {added}", _MASKED),
    "mask_multiplied": Lines("masked", "masked = scaled * mask", _MASKED),
    "causal_off_by_one": Lines("mask", _CAUSAL_WRONG, _CAUSAL),
    "causal_corner": Lines("mask", _CAUSAL_WRONG, _CAUSAL),
    "padding_on_queries": Lines(
        "masked",
        "masked = scaled.masked_fill(~padding[:, None, :, None], -math.inf)",
        "masked = scaled.masked_fill(~padding[:, None, None, :], -math.inf)",
    ),
    "mask_finite": Lines(
        "weights", "weights = torch.softmax(torch.where(mask, scaled, scaled + {lowest}), dim=-1)", _NO_NAN
    ),
    "rows_nan": Lines("weights", _WEIGHTS, _NO_NAN),
    "softmax_half": Lines(
        "weights", "weights = torch.softmax(masked, dim=-1, dtype=torch.float16).to(v.dtype)", _WEIGHTS
    ),
    "softmax_over_queries": Lines("weights", "weights = torch.softmax(masked, dim=-2)", _WEIGHTS),
    "softmax_over_heads": Lines("weights", "weights = torch.softmax(masked, dim=1)", _WEIGHTS),
    "softmax_over_batch": Lines("weights", "weights = torch.softmax(masked, dim=0)", _WEIGHTS),
    "softmax_twice": Lines("weights", "weights = torch.softmax(torch.softmax(masked, dim=-1), dim=-1)", _WEIGHTS),
    "mask_after_softmax": Lines(
        "weights",
        "weights = torch.softmax(scaled, dim=-1) * mask",
        "weights = torch.softmax(scaled.masked_fill(~mask, -math.inf), dim=-1)",
    ),
    "dropout_on": Lines(
        "after", "weights = F.dropout(weights, p={value})", "weights = F.dropout(weights, p={value}, training=False)"
    ),
    "weights_renormalised": Lines("after", "weights = weights / weights.amax(dim=-1, keepdim=True)", ""),
    "weights_transposed": Lines("weights", "weights = torch.softmax(masked, dim=-1).transpose(-2, -1)", _WEIGHTS),
    "heads_averaged": Lines("after", "weights = weights.mean(dim=1, keepdim=True)", ""),
    "heads_merged_by_view": Lines(
        "merge", "output = output.reshape(b, -1, h * d_v)", "output = output.transpose(1, 2).reshape(b, -1, h * d_v)"
    ),
    # what only weights can show; the rest of it may have been made in many ways, and none is shown for it
    "negative": Lines("weights", "weights = masked", _WEIGHTS),
    "infinite": Lines("weights", "weights = masked.exp()", _WEIGHTS),
}


def lines(
    code: str,
    *,
    value: float | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    layout: str = "half",
    base: float = 10000.0,
    offset: int = 0,
    corner: int = 0,
) -> Lines:
    """Write the wrong and the right statement of a cause, with the numbers that belong to it.

    value: as in its Finding; scale, softcap, layout, base: as they were meant; offset: of the causal mask that was
    meant, corner: that of the other corner. Raises KeyError for a cause that has no lines.

    >>> lines("scale_missing").right
    'scaled = scores / math.sqrt(d_k)'
    >>> lines("causal_off_by_one", value=1.0).wrong
    'mask = torch.ones(s, u, dtype=torch.bool).tril(1)'
    """
    place, wrong, right = LINES[code]
    other = "interleaved" if layout == "half" else "half"
    scaled = PROGRAM["scaled"] if scale is None else f"scaled = scores * {scale:g}"
    wrong_offset = corner if code == "causal_corner" else offset + round(value or 0)
    values = {
        "value": f"{value or 0:.4g}",
        "scaled": scaled,
        "scaled_twice": scaled + (" / math.sqrt(d_k)" if scale is None else f" * {scale:g}"),
        "cap": f"{value if value is not None else softcap or 0:g}",
        "rotary": _rotary(layout, base),
        "other": _rotary(other, base),
        "added": "mask.float()" if value != -1 else "(~mask).float()",
        "lowest": "-1e30" if value is None else f"{value:.0e}".replace("e+0", "e"),
        "offset": offset,
        "wrong_offset": wrong_offset,
    }
    return Lines(place, wrong.format(**values), right.format(**values))


def _rotary(layout: str, base: float) -> str:
    return f'Rotary("{layout}")' if base == 10000 else f'Rotary("{layout}", base={base:g})'

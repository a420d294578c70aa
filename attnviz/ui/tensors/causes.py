"""What each cause of a wrong attention is called, in one sentence."""

from __future__ import annotations

from attnviz.core.diagnosis_result import Finding
from attnviz.figures.text import number
from attnviz.locale import _, n_


def sentence(finding: Finding) -> str:
    """Word a finding in one sentence of Markdown."""
    value = finding.value
    shown = "" if value is None else f"{value:.4g}".replace("-", "−").replace("e+0", "e")
    percent = "" if value is None else number(100 * value, 1)
    count = "" if value is None else f"{round(value):,}"
    return words(finding.cause, value).format(value=shown, percent=percent, n=count)


def words(code: str, value: float | None = None) -> str:
    """Return the sentence of a cause; it may hold {value}, {percent} or {n}. Raises KeyError for a code that is none.

    >>> words("scale_missing")
    '**The scale is missing**: the scores go into the softmax without being divided by √d_k.'
    """
    if code == "causal_off_by_one" and value == -1:
        return _("**The causal mask is one off**: a token does not see itself, only what comes before it.")
    if code == "mask_added_as_one" and value == -1:
        return _("**The mask is added as 1 and 0**: hidden keys get a score higher by 1, where −∞ should hide them.")
    if code == "mask_finite" and value is not None:
        return _(
            "**The mask adds {value} and not −∞**: a row that may attend nowhere still gets weights over what it "
            "must not see, where 0 should stand."
        )
    n = 0 if value is None else round(value)
    return (_inputs() | _scores() | _masks() | _weights() | _numbers(n))[code]


def _inputs() -> dict[str, str]:
    return {
        "heads_viewed": _(
            "**Heads are split by view alone**: the features of one token land in different heads; view by tokens "
            "first, then transpose."
        ),
        "heads_strided": _(
            "**Heads are split interleaved**: head h takes every h-th feature, and not the features that lie together."
        ),
        "qk_swapped": _("**Query and key are swapped**: the scores are K Qᵀ, so that keys read queries."),
        "kv_swapped": _("**Key and value are swapped**: queries are compared with V, and K is what is mixed."),
        "rotary_missing": _("**RoPE is missing**: queries and keys are compared as they are, without being rotated."),
        "rotary_layout": _(
            "**RoPE turns the other pairs**: halves where neighbours should turn together, or neighbours for halves."
        ),
        "rotary_extra": _("**RoPE once too often**: queries and keys are rotated where they should not be."),
        "rotary_on_value": _("**RoPE also turns V**: values are rotated by their places; only Q and K should be."),
        "kv_heads_tiled": _(
            "**Shared key-value heads are repeated in the wrong order**: repeat gives 0 1 0 1, where "
            "repeat_interleave gives 0 0 1 1."
        ),
        "heads_merged_by_view": _(
            "**Heads are merged wrongly**: the output is reshaped without moving the axis of heads behind the tokens "
            "first."
        ),
    }


def _scores() -> dict[str, str]:
    return {
        "scale_missing": _("**The scale is missing**: the scores go into the softmax without being divided by √d_k."),
        "scale_d_k": _("**Scaled by d_k**: the scores are divided by d_k and not by its root."),
        "scale_sqrt_d_model": _(
            "**Scaled by √d_model**: the scores are divided by the root of the whole width and not of one head's d_k."
        ),
        "scale_twice": _("**Scaled twice**: the scores are divided by √d_k two times."),
        "scale_inverted": _("**Scaled the wrong way**: the scores are multiplied by √d_k, and not divided."),
        "scale_other": _("**Another scale**: the scores are multiplied by {value}."),
        "softcap_missing": _("**The soft cap is missing**: large scores are not bent back by tanh."),
        "softcap_extra": _("**A soft cap too much**: scores are bent by {value}·tanh(score/{value})."),
    }


def _masks() -> dict[str, str]:
    return {
        "mask_missing": _("**The mask is missing**: every token sees every other."),
        "mask_extra": _("**A causal mask too much**: later tokens are hidden, which was not asked for."),
        "mask_inverted": _(
            "**The mask is inverted**: what should be hidden is seen, and what should be seen is hidden."
        ),
        "mask_transposed": _("**The mask is transposed**: its rows are the keys, and they should be the queries."),
        "mask_added_as_one": _(
            "**The mask is added as 1 and 0**: visible keys get a score higher by 1, and −∞ hides nothing."
        ),
        "mask_multiplied": _("**The scores are multiplied by the mask**: hidden ones become 0, and exp(0) is 1."),
        "causal_off_by_one": _("**The causal mask is one off**: a token sees the one that comes after it."),
        "causal_corner": _(
            "**The causal mask starts in the wrong corner**: queries and keys differ in number, and its diagonal "
            "ends elsewhere."
        ),
        "padding_on_queries": _(
            "**Padding hides queries and not keys**: whole rows go, and padded keys are still read."
        ),
        "mask_finite": _(
            "**The mask adds a large negative number and not −∞**: a row that may attend nowhere becomes even, where "
            "0 should stand."
        ),
        "mask_after_softmax": _(
            "**The mask comes after the softmax**: hidden weights are set to 0, and the rows no longer sum to 1."
        ),
    }


def _weights() -> dict[str, str]:
    return {
        "rows_nan": _("**Wholly masked rows are NaN**: the softmax of nothing but −∞ is 0 / 0."),
        "softmax_half": _("**The softmax runs in half precision**: its weights carry 11 or fewer binary digits."),
        "softmax_over_queries": _("**The softmax runs over the queries**: columns sum to 1, where rows should."),
        "softmax_over_heads": _("**The softmax runs over the heads**: a cell sums to 1 over all heads."),
        "softmax_over_batch": _("**The softmax runs over the batch**: a cell sums to 1 over all sequences."),
        "softmax_twice": _("**The softmax runs twice**: the weights go through it once more, and become almost even."),
        "dropout_on": _("**Dropout is still on**: {percent} % of the weights are dropped, and the rest are enlarged."),
        "weights_renormalised": _(
            "**Rows are rescaled**: each is the right one times a number of its own, and does not sum to 1."
        ),
        "weights_transposed": _("**The weights are transposed**: their rows are the keys."),
        "heads_averaged": _(
            "**The weights are averaged over the heads**: every head has the same map, that of no head."
        ),
    }


def _numbers(n: int) -> dict[str, str]:
    """What weights alone show, and what decimals do; n: how many."""
    return {
        "rounded": n_(
            "**Right, as far as {n} decimal tells**: the numbers were rounded to it, and each is that of "
            "attention(q, k, v) within half of it.",
            "**Right, as far as {n} decimals tell**: the numbers were rounded to them, and each is that of "
            "attention(q, k, v) within half of the last one.",
            n,
        ),
        "negative": n_(
            "**Negative weights**: {n} number is below 0; these may be scores, before the softmax.",
            "**Negative weights**: {n} numbers are below 0; these may be scores, before the softmax.",
            n,
        ),
        "nan": n_(
            "**NaN**: {n} row holds NaN, and no mask explains it. Look for an inf or NaN in the queries or keys, or "
            "for scores that overflow.",
            "**NaN**: {n} rows hold NaN, and no mask explains it. Look for an inf or NaN in the queries or keys, or "
            "for scores that overflow.",
            n,
        ),
        "infinite": n_(
            "**Infinite numbers**: {n} is no weight; these may be scores, or their exponentials.",
            "**Infinite numbers**: {n} of them are no weights; these may be scores, or their exponentials.",
            n,
        ),
        "sums_off": _("**Rows do not sum to 1**, and the numbers do not say why."),
        "rows_empty": n_(
            "**Empty rows**: {n} row is 0, though it may read some key.",
            "**Empty rows**: {n} rows are 0, though they may read some key.",
            n,
        ),
        "leak": n_(
            "**A leak**: {n} cell that should be hidden has a weight.",
            "**A leak**: {n} cells that should be hidden have a weight.",
            n,
        ),
    }

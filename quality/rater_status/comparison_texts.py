"""Sentences that compare a rater with all raters of a question."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import format_count, format_number, format_percent
from quality.rater_status import comparison


def describe_agreement(
    comparison: comparison.RaterComparison, rater: int, *, is_outlier: bool
) -> str:
    """Return a sentence on the rater's agreement with the others; empty without a result.

    ``is_outlier``: an unresolved alert says that the rater agrees clearly less than the others.
    """
    result = comparison.raters.get(rater)
    if result is None:
        return ""
    if not result.has_enough_items or comparison.middle is None:
        return _describe_missing_comparison(result)
    params = {
        "value": format_number(result.value),
        "middle": format_number(comparison.middle),
        "place": format_count(_get_impact_rank(comparison, rater)),
    }
    if is_outlier:
        template = _(
            "Agrees far less than the others: %(value)s (median %(middle)s). Rank "
            "%(place)s by impact."
        )
    elif rater in comparison.outlying:
        template = _(
            "Agrees less than the others on the same items: %(value)s (median %(middle)s)."
        )
    elif result.value is not None and result.value < comparison.middle:
        template = _("Below the team’s median: %(value)s (median %(middle)s).")
    else:
        template = _("Not below the team’s median: %(value)s (median %(middle)s).")
    return template % params


def _describe_missing_comparison(result: comparison.ComparedRater) -> str:
    """Return why a rater is not compared with the median."""
    if result.n_items < comparison.MIN_ITEMS:
        return _("Not enough data yet: %(n)s shared items.") % {"n": format_count(result.n_items)}
    if result.value is None:
        return _("Agreement with the others is undefined: all answers are the same.")
    return _("Agreement with the others: %(value)s. A comparison needs three raters.") % {
        "value": format_number(result.value)
    }


def describe_bias(result: comparison.ComparedRater, labels: Sequence[str]) -> str:
    """Return sentences on a rater who rates higher or lower than the others.

    ``labels``: the active categories in declared order.
    """
    assert result.bias is not None
    limits = [result.bias_low, result.bias_high]
    template = _("Rates %(size)s [%(low)s, %(high)s] higher than the others on the same items.")
    if result.bias < 0:
        limits = [None if limit is None else -limit for limit in reversed(limits)]
        template = _("Rates %(size)s [%(low)s, %(high)s] lower than the others on the same items.")
    low, high = map(format_number, limits)
    sentence = template % {"size": format_number(abs(result.bias)), "low": low, "high": high}
    category, share, share_of_others = result.contrast
    if category >= len(labels):
        return sentence
    return _(
        "%(sentence)s Chooses “%(label)s” for %(share)s of these %(n)s items, the others for"
        " %(others)s."
    ) % {
        "sentence": sentence,
        "n": format_count(result.n_items),
        "label": labels[category],
        "share": format_percent(share),
        "others": format_percent(share_of_others),
    }


def _get_impact_rank(comparison: comparison.RaterComparison, rater: int) -> int:
    """Return the rater's rank by impact; 1 is the greatest."""
    own_impact = comparison.compute_impact(rater)
    return 1 + sum(
        comparison.compute_impact(other_rater) > own_impact for other_rater in comparison.raters
    )

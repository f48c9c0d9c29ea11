"""What the numbers say of a rater, in a sentence: the judgement first."""

from __future__ import annotations

import numpy as np
from django.utils.translation import gettext as _

from metrics.views.common.number_formats import figure, whole
from quality.rater_status import comparison


def judgement(standings: comparison.Standings, rater: int, *, apart: bool) -> str:
    """Empty while nothing was made of the rater; ``apart``: a case says so."""
    one = standings.raters.get(rater)
    if one is None:
        return ""
    if not one.enough or standings.middle is None:
        return _("Too little is known: %(n)s items that others rated too.") % {
            "n": whole(one.n_items)
        }
    told = {"value": figure(one.value), "middle": figure(standings.middle)}
    if apart:
        told["place"] = whole(_place(standings, rater))
        return _(
            "Agrees clearly less with everybody than the others do: %(value)s against %(middle)s of"
            " the middle rater. Place %(place)s of all by harm."
        ) % told  # fmt: skip
    if one.value is not None and one.value < standings.middle:
        return _(
            "Agrees less with the others than the middle rater: %(value)s against %(middle)s."
        ) % told  # fmt: skip
    return _(
        "Agrees with the others no less than the middle rater: %(value)s against %(middle)s."
    ) % told  # fmt: skip


def remark(standings: comparison.Standings, rater: int) -> str:
    """Of a rater whom no alarm names: that the whole interval lies below the funnel. Empty where
    chance may explain the distance from the middle, and while too little is known."""
    one, shape = standings.raters.get(rater), standings.funnel
    if one is None or one.high is None or shape is None or not one.enough:
        return ""
    low, _high = shape.limits(np.array([one.n_items]))
    return _("not by chance alone") if one.high < low[0] else ""


def _place(standings: comparison.Standings, rater: int) -> int:
    """1 for the rater of most harm."""
    own = standings.harm(rater)
    return 1 + sum(standings.harm(other) > own for other in standings.raters)

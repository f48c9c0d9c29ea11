"""Rules for categories whose agreement, or whose use, fell; see agreement_falls.py."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.drift import AGREEMENT, DriftResult

from .agreement_falls import (
    WEEK_DAYS,
    GroupScores,
    LevelFall,
    build_finding,
    find_falls,
    get_last_days,
)
from .finding import CATEGORY_COLLAPSED, USE_MEASURE, OutlierFinding

COLLAPSED_SHARE = 0.5  # share of its agreement that a collapsed category has lost
UNUSED_SHARE = 0.9  # share of its ratings that an unused category has lost


@dataclass(frozen=True)
class _CategoryUse:
    """Agreement on a category and its share of the ratings, each (before, since) the onset.

    agreement: share of the comparisons with a rating of the category in which the other rating has
    the category, too.
    """

    agreement: tuple[float, float]
    share: tuple[float, float]

    @property
    def has_collapsed(self) -> bool:
        """True if raw and chance-corrected agreement both lost more than COLLAPSED_SHARE."""
        before, since = self.agreement
        kappa_before, kappa_since = (
            (agreement - share) / max(1 - share, 1e-12)
            for agreement, share in zip(self.agreement, self.share, strict=True)
        )
        remaining = 1 - COLLAPSED_SHARE
        return since < remaining * before and kappa_since < remaining * kappa_before


@dataclass(frozen=True)
class _CategoryComparisons:
    """Comparisons (C,) whose own rating has one category.

    day (C,): of the item's last comparison; is_same (C,): whether the other rating has the
    category, too.
    """

    code: int
    day: Ints
    is_same: npt.NDArray[np.bool_]

    def compare_use_at_onset(self, fall: LevelFall, drift: DriftResult) -> _CategoryUse:
        """Return agreement and share of the category before and since the onset of a fall."""
        ratings = drift.data.ratings
        series = fall.series
        first, onset, end = series.day[0], series.day[fall.onset], series.day[fall.t] + WEEK_DAYS
        agreements, shares = [], []
        for low, high in ((first, onset), (onset, end)):
            is_compared = (self.day >= low) & (self.day < high)
            agreements.append(int(self.is_same[is_compared].sum()) / max(int(is_compared.sum()), 1))
            in_period = (ratings.day >= low) & (ratings.day < high)
            n_own = int((in_period & (ratings.code == self.code)).sum())
            shares.append(n_own / max(int(in_period.sum()), 1))
        return _CategoryUse((agreements[0], agreements[1]), (shares[0], shares[1]))


def find_category_falls(
    drift: DriftResult, segment_starts: list[int], k: int
) -> list[OutlierFinding]:
    """Return findings on falls of the agreement on a category, and on falls of its use.

    segment_starts: days on which other guidelines began; k: number of categories. The agreement on
    a category is the share of the others who give it where one rater does. It also falls where the
    category merely becomes rare, so the chance-corrected agreement must have fallen by as much.
    """
    settings, ratings = drift.data.settings, drift.data.ratings
    rows = np.flatnonzero(~drift.excluded_ratings[drift.data.comparisons.own])
    rows = rows[~drift.excluded_ratings[drift.data.comparisons.other[rows]]]
    own_codes = ratings.code[drift.data.comparisons.own[rows]]
    other_codes = ratings.code[drift.data.comparisons.other[rows]]
    findings = []
    for code in range(k):
        category_rows = rows[own_codes == code]
        if not category_rows.size:
            continue
        item, item_index = index_distinct(ratings.item[drift.data.comparisons.own[category_rows]])
        is_same = other_codes[own_codes == code] == code
        score = np.bincount(item_index, weights=is_same) / np.bincount(item_index)
        day = get_last_days(drift, category_rows, item_index)
        scored = GroupScores(np.zeros(item.size, np.int64), day, score)
        prior = settings.priors[AGREEMENT]
        falls = find_falls(
            scored, 1, prior=prior, settings=settings, segment_starts=segment_starts, multiple=2 * k
        )
        comparisons = _CategoryComparisons(code, day[item_index], is_same)
        for fall in falls:
            use = comparisons.compare_use_at_onset(fall, drift)
            if use.has_collapsed:
                finding = build_finding(CATEGORY_COLLAPSED, AGREEMENT, (), fall, code=code)
                facts = {"was": use.agreement[0], "is": use.agreement[1]}
                findings.append(replace(finding, facts=facts))
        findings += _find_category_use_falls(drift, segment_starts, code, k)
    return findings


def _find_category_use_falls(
    drift: DriftResult, segment_starts: list[int], code: int, k: int
) -> list[OutlierFinding]:
    """Return findings where a category lost more than UNUSED_SHARE of its share of the ratings."""
    ratings = drift.data.ratings
    rows = np.flatnonzero(~drift.excluded_ratings)
    item, item_index = index_distinct(ratings.item[rows])
    if not item.size:
        return []
    score = np.bincount(item_index, weights=ratings.code[rows] == code) / np.bincount(item_index)
    day = np.full(item.size, np.iinfo(np.int64).min)
    np.maximum.at(day, item_index, ratings.day[rows])
    share = float(score.mean())
    prior = replace(drift.data.settings.priors[AGREEMENT], omega=share, tolerance=share / 4)
    settings = replace(
        drift.data.settings,
        prior_day_sd={AGREEMENT: share / 4},
        min_item_variance={AGREEMENT: share / 4},
    )
    scored = GroupScores(np.zeros(item.size, np.int64), day, score)
    falls = find_falls(
        scored, 1, prior=prior, settings=settings, segment_starts=segment_starts, multiple=2 * k
    )
    return [
        build_finding(CATEGORY_COLLAPSED, USE_MEASURE, (), fall, code=code)
        for fall in falls
        if fall.mean_since < (1 - UNUSED_SHARE) * fall.mean_before
    ]

"""Rule for copies: pairs who agree more than their agreement with others explains.

If raters err independently of each other, the agreement of two of them (in kappa units) is the
product of their levels, d_gh = l_g l_h: two good raters agree often, but each of them also agrees
often with others. The levels are fitted to all pairs by least squares, without the pair in
question. Tested is the mean of d_gh - l_g l_h over the items of the pair against a bound: 0.05, or
2.5 standard deviations of the other pairs where these are more, because pairs differ (two raters
with the same training). The evidence is that of rater_rules.py with 100 times the number of pairs
as level, so that a question in which nobody copies ever raises such an alert with a probability of
at most 1 / 100.

Raters with a finding of another rule are left out: two good raters agree far more with each other
than with one who always gives the same answer, or the reverse of what the others say.

Two raters who nearly always give the same answer agree without looking at the items. So they must
agree more than expected by their own shares of categories, too: with a = p_g' D p_h, the mean of d
over all pairs of their answers, (d_gh - a) / (1 - a) is kappa by their own margins, which is tested
against the same bound by two standard errors.

Where others rated the same items, the two must agree more than the third raters' agreement with
them on these items explains, too: otherwise the items are easy. Where nobody else did, the levels
are those on items with two ratings: items of which only few have further ratings differ from these
(disputed items are rated again), and a pair is not tested if one of the two has no other partner on
such items.

Where items are in clusters, variances are multiplied by the ratio of the squares of d_gh - l_g l_h
summed by pair and cluster, and by item; and a pair needs MIN_CLUSTERS common clusters.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from metrics.agreement.counts.grouping import Ints, index_distinct, rank_rows
from metrics.agreement.counts.wider_intervals import MIN_CLUSTERS
from metrics.agreement.drift import AGREEMENT, DriftResult
from metrics.agreement.drift.daily_scores import sum_by_day
from metrics.agreement.drift.evidence import bayes_factor
from metrics.agreement.estimate import NORMAL_QUANTILE, Floats
from metrics.agreement.outliers.rater_rules import MAD_TO_SD, MIN_OTHERS

from .agreement_falls import get_comparison_days
from .finding import MIN_ITEMS_TO_TEST, RATER_COPIES, EvidenceSeries, OutlierFinding

EVIDENCE_LEVEL = 100.0  # times the number of pairs
MIN_EXCESS = 0.05  # kappa units
_N_DEVIATIONS = 2.5
_MANY_PAIRS = 100
_N_ROUNDS = 50
_MIN_LEVEL = 0.05


@dataclass(frozen=True)
class _Pairs:
    """Pairs of raters with common items (P,), and their comparisons (C,).

    first, second: numbers of the raters (P,); n: comparisons (P,); mean: of d (P,)
    expected: agreement expected from the levels of the two (P,)
    row: index of each comparison in drift.data (C,); pair: index of its pair (C,)
    """

    first: Ints
    second: Ints
    n: Ints
    mean: Floats
    expected: Floats
    row: Ints
    pair: Ints


def find_copies(
    drift: DriftResult, *, excluded_raters: Collection[int] = ()
) -> list[OutlierFinding]:
    """Return findings on pairs of raters who agree too often, as if one copied from the other.

    excluded_raters: keys of raters who are left out. The pair with the largest excess is found
    first; then the levels are fitted without it, and the others are tested again: a copied level is
    too high, and those of the partners of the two too low.
    """
    findings: list[OutlierFinding] = []
    while True:
        pairs = _build_pairs(drift, excluded_raters, {finding.raters for finding in findings})
        named = [finding.raters for finding in findings]
        unnamed = [finding for finding in _test_pairs(drift, pairs) if finding.raters not in named]
        if not unnamed:
            return findings
        findings.append(max(unnamed, key=lambda finding: finding.size))


def _test_pairs(drift: DriftResult, pairs: _Pairs) -> list[OutlierFinding]:
    """Return findings on the pairs that agree clearly more than expected."""
    tested = np.flatnonzero(pairs.n >= MIN_ITEMS_TO_TEST)
    excess = (pairs.mean - pairs.expected)[tested]
    d = drift.data.differences[AGREEMENT]
    settings = drift.data.settings
    residuals = d[pairs.row] - pairs.expected[pairs.pair]
    min_variance = settings.min_item_variance[AGREEMENT]
    s2 = max(float(residuals.var()) if residuals.size else 0.0, min_variance)
    cluster = drift.data.ratings.cluster
    effect = 1.0
    if cluster is not None:
        cluster = cluster[drift.data.comparisons.own]
        effect = _compute_design_effect(pairs.pair, cluster[pairs.row], residuals)
        s2 *= effect
    bounds = _compute_bounds(excess, s2 / np.maximum(pairs.n[tested], 1))
    level = EVIDENCE_LEVEL * max(tested.size, 1)
    findings = []
    for index in np.flatnonzero(np.isfinite(bounds) & (excess > bounds)).tolist():
        pair, bound = int(tested[index]), float(bounds[index])
        rows = pairs.row[pairs.pair == pair]
        if cluster is not None and np.unique(cluster[rows]).size < MIN_CLUSTERS:
            continue
        day = get_comparison_days(drift, rows)
        scores = d[rows] - pairs.expected[pair]
        # No distribution within these limits with this mean scatters more (Bhatia & Davis 2000).
        null_mean = min(float(pairs.expected[pair]) + bound, 1.0)
        largest = (1 - null_mean) * (null_mean - float(d.min()))
        pair_s2 = max(min(s2, effect * largest), min_variance)
        series = _build_series(day, scores, bound, pair_s2, settings.priors[AGREEMENT].omega)
        reached = np.flatnonzero(series.evidence >= level)
        if not reached.size or series.evidence[-1] < level:
            continue
        if _has_excess_beyond_habits(
            drift, pairs, pair, rows, bound, pair_s2
        ) and _has_excess_on_alike_items(drift, pairs, pair, rows, bound, s2):
            expected = float(pairs.expected[pair])
            findings.append(
                _build_finding(drift, pairs, pair, series, int(reached[0]), expected, s2)
            )
    return findings


def _compute_design_effect(pair: Ints, cluster: Ints, residuals: Floats) -> float:
    """Return the design effect of clusters on sums of residuals (C,) by pair, at least 1.

    pair, cluster (C,): the pair, and the cluster of the item, of each comparison.
    """
    squares = float(residuals @ residuals)
    _, cell = rank_rows([pair, cluster])
    sums = np.bincount(cell, residuals)
    return max(float(sums @ sums) / squares, 1.0) if squares else 1.0


def _compute_bounds(excess: Floats, noise: Floats) -> Floats:
    """Return the excess (P,) above which a pair is unlike all others; infinite for few pairs.

    noise (P,): sampling variance of each excess.
    """
    if excess.size - 1 < MIN_OTHERS:
        return np.full(excess.size, np.inf)
    if excess.size >= _MANY_PAIRS:  # leaving out one of so many has no effect
        return np.full(excess.size, _compute_bound(excess, noise))
    return np.array(
        [
            _compute_bound(np.delete(excess, index), np.delete(noise, index))
            for index in range(excess.size)
        ]
    )


def _compute_bound(others: Floats, noise: Floats) -> float:
    middle = float(np.median(others))
    spread = (MAD_TO_SD * float(np.median(np.abs(others - middle)))) ** 2
    spread -= float(np.median(noise))
    return middle + max(MIN_EXCESS, _N_DEVIATIONS * float(np.sqrt(max(spread, 0.0))))


def _build_pairs(
    drift: DriftResult, excluded_raters: Collection[int], copies: Collection[tuple[int, ...]]
) -> _Pairs:
    """Return the pairs of raters, from dated ratings before any drift and without excluded raters.

    copies: pairs of keys to which the levels are not fitted.
    """
    comparisons, ratings = drift.data.comparisons, drift.data.ratings
    is_usable = (comparisons.own_rater < comparisons.other_rater) & ~(
        drift.excluded_ratings[comparisons.own] | drift.excluded_ratings[comparisons.other]
    )
    is_usable &= ratings.dated[comparisons.own] & ratings.dated[comparisons.other]
    is_excluded = np.isin(ratings.keys, list(excluded_raters))
    is_usable &= ~(is_excluded[comparisons.own_rater] | is_excluded[comparisons.other_rater])
    row = np.flatnonzero(is_usable)
    n_raters = max(ratings.keys.size, 1)
    keys, pair = index_distinct(
        comparisons.own_rater[row] * n_raters + comparisons.other_rater[row]
    )
    first, second = keys // n_raters, keys % n_raters
    n = np.bincount(pair, minlength=keys.size)
    d = drift.data.differences[AGREEMENT][row]
    mean = np.bincount(pair, weights=d, minlength=keys.size) / np.maximum(n, 1)
    raters = zip(ratings.keys[first].tolist(), ratings.keys[second].tolist(), strict=True)
    is_copy = np.array([pair_keys in copies for pair_keys in raters], bool)
    fitted_n = np.where(is_copy, 0, n)
    expected = fit_expected_agreement(first, second, fitted_n, mean, n_raters)
    return _Pairs(first, second, n, mean, expected, row, pair)


def fit_expected_agreement(  # noqa: PLR0917
    first: Ints, second: Ints, n: Ints, mean: Floats, n_raters: int
) -> Floats:
    """Return the expected agreement (P,) of each pair, from levels fitted without that pair.

    first, second: the raters; n, mean: number and mean of their comparisons; all (P,). Least
    squares of the means weighted by n, alternating between the raters.
    """
    if not n.size:
        return np.zeros(0)
    start = np.sqrt(max(float((n * mean).sum() / n.sum()), _MIN_LEVEL))
    levels = np.full(n_raters, start)
    for _round in range(_N_ROUNDS):
        products, squares = _sum_products_and_squares(first, second, n, mean, levels)
        fitted = np.clip(products / np.maximum(squares, 1e-12), _MIN_LEVEL, 1.0)
        levels = (levels + np.where(squares > 0, fitted, start)) / 2  # damped, or it oscillates
    products, squares = _sum_products_and_squares(first, second, n, mean, levels)
    without = []
    for own, other in ((first, second), (second, first)):
        product = products[own] - n * mean * levels[other]
        square = squares[own] - n * levels[other] ** 2
        level = np.clip(product / np.maximum(square, 1e-12), 0.0, 1.0)
        # Without other partners, nothing is known: full agreement is no surprise.
        without.append(np.where(square > 1e-9, level, 1.0))
    return np.asarray(without[0] * without[1], float)


def _sum_products_and_squares(  # noqa: PLR0917
    first: Ints, second: Ints, n: Ints, mean: Floats, levels: Floats
) -> tuple[Floats, Floats]:
    """Return the sums of n d l_h and of n l_h^2 over each rater's partners h, both (R,)."""
    size = levels.size
    own, other = np.concatenate([first, second]), np.concatenate([second, first])
    n, mean = np.tile(n, 2), np.tile(mean, 2)
    products = np.bincount(own, weights=n * mean * levels[other], minlength=size)
    squares = np.bincount(own, weights=n * levels[other] ** 2, minlength=size)
    return products.astype(float, copy=False), squares.astype(float, copy=False)


def _build_series(  # noqa: PLR0917
    day: Ints, scores: Floats, bound: float, s2: float, omega: float
) -> EvidenceSeries:
    days = sum_by_day(np.zeros(day.size, np.int64), day, scores)
    n = np.cumsum(days.n)
    (evidence,) = bayes_factor(np.cumsum(days.total) / n - bound, s2 / n, omega)
    evidence = np.where(n >= MIN_ITEMS_TO_TEST, evidence, 0.0)
    return EvidenceSeries(days.day, days.n, days.total / days.n, evidence)


def _has_excess_beyond_habits(  # noqa: PLR0917
    drift: DriftResult, pairs: _Pairs, pair: int, rows: Ints, bound: float, s2: float
) -> bool:
    """Return whether the two also agree more than their own shares of categories explain.

    rows (C,): their comparisons; bound: the excess to exceed; s2: variance of a comparison.
    """
    comparisons, code = drift.data.comparisons, drift.data.ratings.code
    d = drift.data.differences[AGREEMENT][rows]
    own, own_n = np.unique(code[comparisons.own[rows]], return_counts=True)
    other, other_n = np.unique(code[comparisons.other[rows]], return_counts=True)
    by_habit = float(own_n @ drift.data.agreement_matrix[np.ix_(own, other)] @ other_n) / d.size**2
    kappa = (float(d.mean()) - by_habit) / max(1 - by_habit, 1e-12)
    se = float(np.sqrt(s2 / d.size)) / max(1 - by_habit, 1e-12)
    return kappa - float(pairs.expected[pair]) - bound > 2 * se


def _has_excess_on_alike_items(  # noqa: PLR0917
    drift: DriftResult, pairs: _Pairs, pair: int, rows: Ints, bound: float, s2: float
) -> bool:
    """Return whether the two also agree more than third raters' agreement with them explains.

    Third raters are compared on the same items; where less than half of these have a third rater,
    all pairs are compared on items with two ratings.
    """
    item_of_row = drift.data.ratings.item[drift.data.comparisons.own]
    item = item_of_row[rows]
    involved = np.isin(pairs.first, [pairs.first[pair], pairs.second[pair]]) | np.isin(
        pairs.second, [pairs.first[pair], pairs.second[pair]]
    )
    involved[pair] = False
    third = involved[pairs.pair]
    third_item = item_of_row[pairs.row[third]]
    d = drift.data.differences[AGREEMENT]
    residuals = d[pairs.row[third]] - pairs.expected[pairs.pair[third]]
    size = int(item_of_row.max(initial=0)) + 1
    n = np.bincount(third_item, minlength=size)[item]
    total = np.bincount(third_item, weights=residuals, minlength=size)[item]
    has_third = n > 0
    if 2 * has_third.sum() < rows.size:
        n_of_item = np.bincount(item_of_row[pairs.row], minlength=size)
        return _has_excess_on_items_of_two(drift, pairs, pair, n_of_item[item_of_row], bound, s2)
    scores = (d[rows] - pairs.expected[pair])[has_third] - total[has_third] / n[has_third]
    variance = max(float(scores.var()), s2) / scores.size
    return float(scores.mean()) - bound > 2 * float(np.sqrt(variance))


def _has_excess_on_items_of_two(  # noqa: PLR0917
    drift: DriftResult, pairs: _Pairs, pair: int, n_of_row: Ints, bound: float, s2: float
) -> bool:
    """Return whether the pair agrees more than expected on items with exactly two ratings.

    n_of_row: number of comparisons of the item of each comparison in drift.data.
    """
    is_alone = n_of_row[pairs.row] == 1  # of an item with two ratings there is one comparison
    size = pairs.n.size
    d = drift.data.differences[AGREEMENT][pairs.row]
    n = np.bincount(pairs.pair[is_alone], minlength=size)
    total = np.bincount(pairs.pair[is_alone], weights=d[is_alone], minlength=size)
    mean = total / np.maximum(n, 1)
    n_raters = drift.data.ratings.keys.size
    expected = fit_expected_agreement(pairs.first, pairs.second, n, mean, n_raters)
    excess = float(mean[pair] - expected[pair])
    return excess - bound > 2 * float(np.sqrt(s2 / n[pair]))


def _build_finding(  # noqa: PLR0917
    drift: DriftResult,
    pairs: _Pairs,
    pair: int,
    series: EvidenceSeries,
    index: int,
    expected: float,
    s2: float,
) -> OutlierFinding:
    keys = drift.data.ratings.keys
    n = int(series.n[: index + 1].sum())
    size = float((series.n * series.mean)[: index + 1].sum() / n)
    margin = NORMAL_QUANTILE * float(np.sqrt(s2 / n))
    return OutlierFinding.since_start(
        RATER_COPIES,
        AGREEMENT,
        (int(keys[pairs.first[pair]]), int(keys[pairs.second[pair]])),
        series,
        index,
        (size, size - margin, size + margin),
        facts={"together": expected + size, "expected": expected, "chance": EVIDENCE_LEVEL},
    )

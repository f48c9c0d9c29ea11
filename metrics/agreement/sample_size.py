"""Sample sizes: items or ratings needed for a narrow interval of kappa, or for a verdict.

    after    the smallest N >= 2 with t(N - 1) se sqrt(n / N) <= h, from the error se on n items
    before   N = ceil(z^2 v / h^2); two raters, two categories:
             v = (1-kappa) [(1-kappa) (1-2 kappa) + kappa (2-kappa) / (2 pi (1-pi))]
             (Bloch & Kraemer 1989, Biometrics 45, 269-287); more categories: the delta method on
             the assumed table

After data, the error is that of the interval shown (counts/score_intervals.py): half its width
divided by the quantile of t, where that is more than the standard error. Where few items differ,
the standard error is far too small, or 0. Assured studies are simulated with the same interval.

With assurance the half-width is not only expected: 9 of 10 studies reach it, though the error of
each is another one (Zou 2012, Statistics in Medicine 31, 3972-3981). After data the error of all N
items is that of the first n times exp(z_.9 s sqrt(1 - n / N)), with s the standard deviation of its
logarithm (bootstrap); before data the studies are simulated.

Items in clusters (counts/wider_intervals.py): se is that of clusters, which a design effect D
widens, and t has C N / n - 1 degrees of freedom: further items come in further clusters of the
present size. The error of C clusters is estimated from C - 1 degrees of freedom. So s^2 grows by
the variance of log(se) with which exp(z_.9 s) is the factor sqrt((C - 1) / chi2_.1) of one in ten.

Fewer ratings an item: removing one rating of an item at random turns its pattern n into n - e_c
with probability n_c / m; repeated, that is the hypergeometric distribution, exactly.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.wider_intervals import compute_widening_factor, widen_interval

from .coefficients import cohen, fleiss
from .estimate import (
    CONFIDENCE_LEVEL,
    NORMAL_QUANTILE,
    Floats,
    Value,
    t_quantile,
    to_finite_float,
)

TOO_FEW = "too_few_items"
ASSURANCE = 0.9  # share of the studies that reach the wanted half-width
MAX_ERROR_FACTOR = 1.25  # a pilot is too small to plan from if its error is known less well
SIMULATED_STUDIES = 2_000
MAX_ADDITIONAL = 10**9  # more items than this are reported as unknown
REPLICATES = 400
PSEUDO_ITEMS = 2.0  # of the bootstrap, about half of the square of the normal quantile
MIN_SHARE_OF_ITEMS = 0.8  # with as many ratings as a plan of ratings per item
_ASSURANCE_QUANTILE = float(special.ndtri(ASSURANCE))
_MAX_STEPS = 50  # of the search; four to six are usual


def compute_planning_error(value: Value, n_clusters: int | None = None) -> float | None:
    """Return the standard error to plan with: that of the interval shown, or `se` if it is larger.

    That of the interval shown is half of its width, divided by the quantile that it uses. value:
    with the interval of independent items (n_clusters None), or of so many clusters. None where the
    value has no standard error.
    """
    se, n_items = value["se"], value["n_items"] or 0
    if se is None or value["low"] is None or value["high"] is None or n_items < 2:
        return se
    return max(se, (value["high"] - value["low"]) / 2 / _get_shown_quantile(n_clusters))


def _get_shown_quantile(n_clusters: int | None) -> float:
    """Return the number of standard errors in half of the interval shown."""
    return NORMAL_QUANTILE if n_clusters is None else float(t_quantile(n_clusters - 1))


@dataclass(frozen=True)
class ItemsNeeded:
    """Items needed for an interval: in all, and in addition to the existing ones.

    Both are None, with a reason, where no error is known.
    """

    items: int | None
    additional: int | None
    reason: str | None = None


def compute_items_needed(
    se: float | None,
    n: int,
    half_width: float,
    *,
    log_se_sd: float | None = None,
    n_clusters: int | None = None,
    widening: Callable[[int], npt.ArrayLike] | None = None,
) -> ItemsNeeded:
    """Return the number of items whose 95 % interval is no wider than -/+ half_width.

    se: standard error of a coefficient on n items, or None. log_se_sd: standard deviation of
    log(se); then further items reach the half-width with the probability ASSURANCE, with None in
    about half of all studies. n_clusters: number of clusters of the n items, None for independent
    items. widening: function of a number of items that returns how many times wider their interval
    is than a single 95 % interval (wider_intervals.py). Raises ValueError unless half_width > 0.
    """
    _validate_width(half_width)
    if se is None or n < 1 or (n_clusters is not None and n_clusters < 2):
        return ItemsNeeded(None, None, TOO_FEW)
    clusters_per_item = 1.0 if n_clusters is None else n_clusters / n
    sd = 0.0 if log_se_sd is None else add_cluster_variance(log_se_sd, n_clusters)

    def is_narrow(items: int) -> bool:
        # The n items are among the N, so that the error can change by the rest alone.
        change = sd * math.sqrt(max(1 - n / items, 0.0))
        df = max(items * clusters_per_item - 1, 1)
        margin = float(t_quantile(df)) * se * math.sqrt(n / items)
        if widening is not None:
            margin *= float(np.asarray(widening(items)))
        return margin * math.exp(_ASSURANCE_QUANTILE * change) <= half_width

    items = _find_least_items(is_narrow, n)
    return ItemsNeeded(items, max(0, items - n))


def _find_least_items(is_narrow: Callable[[int], bool], n: int) -> int:
    """Return the least number of items whose interval is narrow; n: the present number."""
    upper = 2
    while not is_narrow(upper):
        upper *= 2
    # Just above n the expected change grows faster than the margin falls.
    lower = max(upper // 2, n) if upper > n and not is_narrow(n) else upper // 2
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if is_narrow(middle) else (middle, upper)
    return upper


def compute_items_until_verdict(value: Value, limit: float) -> int | None:
    """Return how many more items place a value's confidence sequence on one side of a limit.

    The value and its error are assumed not to change; so many items are then enough in about half
    of all cases. value: with the ordinary interval, not that of a confidence sequence. None where
    no error is known, for a value at the limit, and for more than MAX_ADDITIONAL items.
    """
    point, low, high, n_items = value["value"], value["low"], value["high"], value["n_items"]
    if point is None or low is None or high is None or n_items is None or n_items < 2:
        return None
    distance = abs(point - limit)
    if distance == 0:
        return None
    end = low if point > limit else high
    se = abs(point - end) / NORMAL_QUANTILE
    needed = compute_items_needed(se, n_items, distance, widening=compute_widening_factor)
    additional = max(1, needed.additional or 0)
    return additional if additional <= MAX_ADDITIONAL else None


def add_cluster_variance(log_se_sd: float, n_clusters: int | None) -> float:
    """Return the standard deviation of log(se) where se is estimated from n_clusters clusters.

    Unchanged for independent items (None) and for fewer than two clusters.
    """
    if n_clusters is None or n_clusters < 2:
        return log_se_sd
    df = n_clusters - 1
    log_factor = math.log(df / special.chdtri(df, ASSURANCE)) / 2
    return math.hypot(log_se_sd, log_factor / _ASSURANCE_QUANTILE)


def compute_error_factor(log_se_sd: float) -> float:
    """Return the factor by which the true error exceeds the estimated one in one of ten studies.

    log_se_sd: standard deviation of the logarithm of the estimated error.
    """
    return math.exp(_ASSURANCE_QUANTILE * log_se_sd)


def compute_pilot_items(log_se_sd: float, n: int) -> int:
    """Return the number of items of a pilot whose error is known to the factor MAX_ERROR_FACTOR.

    log_se_sd: standard deviation of the logarithm of the error on n items; its square falls as 1 /
    n.
    """
    return math.ceil(n * (_ASSURANCE_QUANTILE * log_se_sd / math.log(MAX_ERROR_FACTOR)) ** 2)


def estimate_log_se_sd(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> float:
    """Return the standard deviation of log(e), where e is the planning error of Fleiss' kappa.

    counts (P, k): patterns; n_items (P,): numbers of items; weights (k, k) or None. It is that of a
    bootstrap over items with a fixed seed; 0 where fewer than two replicates have an error.
    PSEUDO_ITEMS are added, spread over all pairs of answers: a few items that agree do not show
    that no others exist.
    """
    patterns, items = _add_pseudo_items(np.asarray(counts, float), np.asarray(n_items, float))
    n = round(float(np.sum(n_items)))
    if n < 2:
        return 0.0
    rng = np.random.default_rng(0)
    samples = rng.multinomial(n, items / items.sum(), size=REPLICATES)
    estimates = fleiss.fleiss_kappa(patterns, samples, weights=weights)
    half_widths = (np.asarray(estimates.high) - np.asarray(estimates.low)) / 2
    errors = np.fmax(np.asarray(estimates.se), half_widths / NORMAL_QUANTILE)
    logs = np.log(errors[np.isfinite(errors) & (errors > 0)])
    return float(logs.std(ddof=1)) if logs.size >= 2 else 0.0


def _add_pseudo_items(patterns: Floats, items: Floats) -> tuple[Floats, Floats]:
    """Return the patterns and numbers of items with PSEUDO_ITEMS pseudo-items added.

    They have the most common number of ratings, in the categories that are used.
    """
    sizes = patterns.sum(axis=1)
    numbers = np.bincount(sizes.astype(int), items * (sizes >= 2))
    used = np.flatnonzero(items @ patterns > 0)
    if not numbers.any() or not used.size:
        return patterns, items
    identity = np.eye(patterns.shape[1])[used]
    answers = (int(np.argmax(numbers)) - 1) * identity[:, None] + identity[None]
    pairs = answers.reshape(-1, patterns.shape[1])
    mass = np.full(len(pairs), PSEUDO_ITEMS / len(pairs))
    return np.concatenate([patterns, pairs]), np.concatenate([items, mass])


def compute_items_needed_before(
    kappa: float,
    prevalence: float | npt.ArrayLike,
    half_width: float,
    *,
    with_assurance: bool = False,
) -> int:
    """Return the number of items for kappa of two raters, before any data.

    prevalence: of one of two categories, or of all (k,). with_assurance: whether the half-width is
    to be reached in the share ASSURANCE of such studies, else in about half of them. Raises
    ValueError for impossible assumptions.
    """
    _validate_width(half_width)
    if not -1 <= kappa <= 1:
        raise ValueError(f"kappa must lie in -1..1, not {kappa:g}")
    shares = np.asarray(prevalence, float)
    if shares.ndim == 0:
        shares = np.array([shares, 1 - shares])
    if shares.size < 2 or (shares <= 0).any() or abs(shares.sum() - 1) > 1e-9:
        raise ValueError("prevalences must be above 0, of two categories or more, and add up to 1")
    if shares.size == 2:
        category_variance = 2 * float(shares[0] * shares[1])
        v = (1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + kappa * (2 - kappa) / category_variance)
    else:
        v = compute_table_variance(kappa * np.diag(shares) + (1 - kappa) * np.outer(shares, shares))
    z = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2))
    expected_items = max(2, math.ceil(z**2 * v / half_width**2 - 1e-9))
    if not with_assurance:
        return expected_items
    table = kappa * np.diag(shares) + (1 - kappa) * np.outer(shares, shares)
    if (table < 0).any():
        raise ValueError(f"kappa {kappa:g} is impossible with these prevalences; take a larger one")
    return _find_assured_items(table, half_width, expected_items)


def _find_assured_items(table: Floats, half_width: float, start: int) -> int:
    """Return the number of items at which ASSURANCE of simulated studies reach the half-width.

    table (k, k): assumed shares; start: a number at which about half of the studies do. From step
    to step the half-width falls nearly as 1 / sqrt(N).
    """
    items = start
    for _ in range(_MAX_STEPS):
        ratio = _simulate_half_width(table, items) / half_width
        if ratio <= 1:
            return items
        items = max(items + 1, math.ceil(items * ratio**2))
    return items


def _simulate_half_width(table: Floats, n: int) -> float:
    """Return the half-width, or infinity, that ASSURANCE of simulated studies of n items reach."""
    rng = np.random.default_rng(0)
    studies = rng.multinomial(n, table.ravel() / table.sum(), size=SIMULATED_STUDIES)
    kappa = cohen.kappa(studies.reshape(-1, *table.shape))
    margins = np.maximum((kappa.high - kappa.low) / 2, kappa.se * t_quantile(n - 1))
    widths = np.sort(np.where(np.isfinite(margins), margins, np.inf))
    return float(widths[math.ceil(ASSURANCE * SIMULATED_STUDIES) - 1])


def compute_table_variance(shares: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """Return n se^2 of kappa for an assumed table (k, k) of two raters' shares.

    weights (k, k) or None. Raises ValueError for shares that are negative or do not sum to 1.
    """
    p = np.asarray(shares, float)
    if (p < 0).any() or abs(p.sum() - 1) > 1e-9:
        raise ValueError("the assumed shares must not be negative and must add up to 1")
    n_items = 1000  # an arbitrary number of items: se^2 falls as 1 / n
    return float(cohen.kappa(p * n_items, weights).se) ** 2 * n_items


def _validate_width(half_width: float) -> None:
    if not half_width > 0:
        raise ValueError(f"the half-width must be above 0, not {half_width:g}")


def thin_patterns(counts: npt.ArrayLike, n_items: npt.ArrayLike, m: int) -> tuple[Floats, Floats]:
    """Return the expected patterns (Q, k) and numbers of items (Q,) with m ratings an item at most.

    counts (P, k), n_items (P,): the patterns and their numbers of items. The ratings kept are a
    random sample of those of the item.
    """
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    while True:
        sizes = patterns.sum(axis=1)
        has_excess = sizes > m
        if not has_excess.any():
            return patterns, items
        # Only the largest are split, so that patterns of the same size are merged first.
        largest = sizes == sizes.max()
        pattern_parts, numbers = [patterns[~largest]], [items[~largest]]
        for c in range(patterns.shape[1]):
            reducible = largest & (patterns[:, c] > 0)
            fewer = patterns[reducible]
            fewer[:, c] -= 1
            pattern_parts.append(fewer)
            numbers.append(items[reducible] * patterns[reducible, c] / sizes[reducible])
        patterns, where = np.unique(np.concatenate(pattern_parts), axis=0, return_inverse=True)
        items = np.bincount(where.ravel(), np.concatenate(numbers), len(patterns))


@dataclass(frozen=True)
class OverlapPlan:
    """Plan with m ratings per item: numbers of items and ratings needed.

    half_width_now: half-width of the interval on the present number of items; items, ratings:
    needed for the requested half-width. All are None where no error is known.
    """

    m: int
    half_width_now: float | None
    items: int | None
    ratings: int | None


def compute_plans(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    half_width: float,
    weights: npt.ArrayLike | None = None,
    *,
    clusters: tuple[float, int] | None = None,
) -> list[OverlapPlan]:
    """Return the plans for Fleiss' kappa with 2, 3, .. ratings per item.

    counts (P, k): patterns; n_items (P,): numbers of items; weights (k, k) or None; clusters:
    (design effect, number of clusters), None for independent items. The largest number of ratings
    is one that MIN_SHARE_OF_ITEMS of the compared items have: items with fewer would make a plan
    look worse than it is. Raises ValueError unless half_width > 0.
    """
    _validate_width(half_width)
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    rated = patterns.sum(axis=1) > 0
    patterns, items = patterns[rated], items[rated]
    n = round(float(items.sum()))
    effect, n_clusters = clusters or (1.0, None)
    plans = []
    for m in range(2, _find_common_number(patterns, items) + 1):
        fewer, numbers = thin_patterns(patterns, items, m)
        value = fleiss.fleiss_kappa(fewer, numbers, weights=weights).to_value()
        if n_clusters is not None:
            value = widen_interval(value, effect, n_clusters)
        se = compute_planning_error(value, n_clusters)
        if se is None or n < 2:
            plans.append(OverlapPlan(m, None, None, None))
            continue
        log_se_sd = estimate_log_se_sd(fewer, numbers, weights)
        needed = compute_items_needed(
            se, n, half_width, log_se_sd=log_se_sd, n_clusters=n_clusters
        ).items
        ratings = None if needed is None else needed * m
        half_width_now = to_finite_float(_get_shown_quantile(n_clusters) * se)
        plans.append(OverlapPlan(m, half_width_now, needed, ratings))
    return plans


def _find_common_number(patterns: Floats, items: Floats) -> int:
    """Return the largest number of ratings that enough compared items have; 0 without any."""
    sizes = patterns.sum(axis=1)
    compared = np.where(sizes >= 2, items, 0)
    order = np.argsort(-sizes)
    is_enough = np.cumsum(compared[order]) >= MIN_SHARE_OF_ITEMS * compared.sum()
    return int(sizes[order][np.argmax(is_enough)]) if compared.sum() else 0


def find_cheapest_plan(plans: list[OverlapPlan]) -> OverlapPlan | None:
    """Return the plan with the fewest ratings; of equal ones, that with the fewest per item.

    None if no plan has a known number of ratings.
    """
    feasible = [plan for plan in plans if plan.ratings is not None]
    return min(feasible, key=lambda plan: (plan.ratings, plan.m)) if feasible else None

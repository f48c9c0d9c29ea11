"""Compute the numbers of metrics.agreement.drift slowly and plainly.

Uses dictionaries, dense matrices and numerical integrals.
"""

import itertools
from collections import defaultdict

import numpy as np
from scipy import integrate, stats


def list_comparisons(rows):
    """Return (own row, other row) of all ordered pairs of rows on the same item.

    Rows are (item, rater, code, day).
    """
    rows_by_item = defaultdict(list)
    for row in rows:
        rows_by_item[row[0]].append(row)
    return [
        (own, other)
        for item_rows in rows_by_item.values()
        for own in item_rows
        for other in item_rows
        if own is not other
    ]


def build_difference(score, rows, k, ordered):
    """Return d of one comparison, as a function of own and other code."""
    if score == "bias":
        return lambda own, other: float(np.clip(own - other, -2, 2))
    n_by_item: defaultdict[int, int] = defaultdict(int)
    for row in rows:
        n_by_item[row[0]] += 1
    share = np.zeros(k)
    for row in rows:
        share[row[2]] += n_by_item[row[0]] >= 2
    share /= share.sum()

    def weight(first, second):
        return 1 - abs(first - second) / (k - 1) if ordered else float(first == second)

    expected = sum(share[j] * share[i] * weight(j, i) for j in range(k) for i in range(k))
    return lambda own, other: (weight(own, other) - expected) / (1 - expected)


def fit_effects(score, pairs, d, ridge=10):
    """Return mu, the raters' effects by a dense solution, and the sign of the peers' effects."""
    s = 1 if score == "agreement" else -1
    values = [d(own[2], other[2]) for own, other in pairs]
    mu = float(np.mean(values)) if s == 1 else 0.0
    raters = sorted({own[1] for own, _ in pairs})
    index_by_rater = {rater: number for number, rater in enumerate(raters)}
    matrix = ridge * np.eye(len(raters))
    right_side = np.zeros(len(raters))
    for (own, other), value in zip(pairs, values, strict=True):
        g, h = index_by_rater[own[1]], index_by_rater[other[1]]
        matrix[g, g] += 1
        matrix[g, h] += s
        right_side[g] += value - mu
    return mu, dict(zip(raters, np.linalg.solve(matrix, right_side), strict=True)), s


def compute_scores(score, rows, k, *, ordered):
    """Return (rater, item, day) -> x, with common weeks removed from agreement.

    Rows without a time have day None.
    """
    pairs = list_comparisons(rows)
    d = build_difference(score, rows, k, ordered)
    mu, a, s = fit_effects(score, pairs, d)
    values_by_rating = defaultdict(list)
    for own, other in pairs:
        values_by_rating[own[1], own[0], own[3]].append(d(own[2], other[2]) - s * a[other[1]])
    x = {key: float(np.mean(values)) for key, values in values_by_rating.items()}
    if score == "agreement" and len(a) >= 3:
        residuals = [
            (own[1], other[1], None if own[3] is None else own[3] // 7,
             d(own[2], other[2]) - mu - a[own[1]] - a[other[1]])
            for own, other in pairs
        ]  # fmt: skip
        m = len(pairs) / len(x)
        for key in x:
            if key[2] is not None:
                x[key] -= estimate_common_week(key[0], key[2] // 7, residuals, m)
    return {key: value for key, value in x.items() if key[2] is not None}


def estimate_common_week(rater, week, residuals, m):
    """Return the shrunken mean residual of the other raters' comparisons in a week."""
    s2 = float(np.var([r for *_, r in residuals]))
    weeks = sorted({w for _, _, w, _ in residuals if w is not None})
    residuals_by_week = {
        w: [r for _, _, residual_week, r in residuals if residual_week == w] for w in weeks
    }
    usable_weeks = [w for w in weeks if len(residuals_by_week[w]) / (2 * m) >= 5]
    if len(usable_weeks) < 3:
        return 0.0
    excess = 0.0
    for week_before, week_after in itertools.pairwise(usable_weeks):
        a, b = residuals_by_week[week_before], residuals_by_week[week_after]
        excess += (np.mean(b) - np.mean(a)) ** 2 - s2 * (2 * m / len(b) + 2 * m / len(a))
    k2 = max(0.0, excess / (2 * (len(usable_weeks) - 1 + 5)))
    others = [r for g, h, w, r in residuals if w == week and rater not in (g, h)]
    if not others:
        return 0.0
    n = len(others)
    return sum(others) / n * k2 / (k2 + 2 * m * s2 / n)


def sum_by_day(x):
    """Return rater -> list of (day, n, total, squares)."""
    values_by_day = defaultdict(list)
    for (rater, _, day), value in x.items():
        values_by_day[rater, day].append(value)
    days_by_rater = defaultdict(list)
    for (rater, day), values in sorted(values_by_day.items()):
        days_by_rater[rater].append((day, len(values), sum(values), sum(v * v for v in values)))
    return dict(days_by_rater)


def compute_evidence(days, *, s2, kappa2, side, omega, tolerance):
    """Return the sum of E_j for each day; days are (n, total, squares).

    Uses weighted regressions in matrices and the Bayes factor as an integral.
    """
    totals = []
    for t in range(len(days)):
        total = 0.0
        for j in range(max(0, t - 249), t + 1):
            before, since = np.array(days[:j]), np.array(days[j : t + 1])
            if j == 0 or before[:, 0].sum() < 30 or since[:, 0].sum() < 10:
                continue
            total += compute_onset_evidence(
                np.array(days[: t + 1]), j, s2, kappa2, side, omega, tolerance
            )
        totals.append(total)
    return totals


def compute_onset_evidence(days, j, s2, kappa2, side, omega, tolerance, caution=None):
    """Return the evidence E_j of the onset j."""
    n, total, squares = days.T
    n1 = n[j:].sum()
    mean0, mean1 = total[:j].sum() / n[:j].sum(), total[j:].sum() / n1
    variance = squares[j:].sum() / n1 - mean1**2
    caution = caution or max(1.0, (variance + 10 * (mean1 - mean0) ** 2 / (n1 + 10)) / s2)
    w = np.diag(1 / (s2 / n + kappa2))
    d = np.arange(len(n))
    step = (d >= j).astype(float)
    ramp = np.where(d >= j, d - j + 1.0, 0.0)
    factors = [(step, 1.0, omega, 0.5)]
    length = len(n) - j
    factors += [(ramp, length, omega / shape, 1 / 6) for shape in (3, 10, 30)]
    total_evidence = 0.0
    for f, divisor, scale, share in factors:
        design = np.column_stack([np.ones(len(n)), f])
        inverse = np.linalg.inv(design.T @ w @ design)
        slope = (inverse @ design.T @ w @ (total / n))[1]
        theta = side * slope * n1 / (n1 + 2)
        spread = inverse[1, 1] * caution + (tolerance / divisor) ** 2
        total_evidence += share * compute_bayes_factor(theta, spread, scale)
    return total_evidence


def compute_bayes_factor(theta, variance, omega):
    """Return the mean likelihood ratio of N(shift, variance) against N(0, variance).

    The shift has a half-normal distribution.
    """

    def weigh_ratio(shift):
        exponent = (theta * shift - shift**2 / 2) / variance
        return 2 * stats.norm.pdf(shift, scale=omega) * np.exp(exponent)

    posterior = theta * omega**2 / (variance + omega**2)
    width = np.sqrt(variance * omega**2 / (variance + omega**2))
    low, high = max(0.0, posterior - 12 * width), max(posterior, 0.0) + 12 * width
    return integrate.quad(weigh_ratio, low, high, epsabs=0, epsrel=1e-11, limit=200)[0]

"""Slow, plain ways to the numbers of metrics.agreement.drift: dictionaries, dense matrices,
numerical integrals."""

import itertools
from collections import defaultdict

import numpy as np
from scipy import integrate, stats


def comparisons(rows):
    """(own row, other row) of all ordered pairs on an item; rows are (item, rater, code, day)."""
    of_item = defaultdict(list)
    for row in rows:
        of_item[row[0]].append(row)
    return [
        (own, other)
        for same in of_item.values()
        for own in same
        for other in same
        if own is not other
    ]


def difference(score, rows, k, ordered):
    """d of one comparison, as a function of own and other code."""
    if score == "bias":
        return lambda own, other: float(np.clip(own - other, -2, 2))
    number: defaultdict[int, int] = defaultdict(int)
    for row in rows:
        number[row[0]] += 1
    share = np.zeros(k)
    for row in rows:
        share[row[2]] += number[row[0]] >= 2
    share /= share.sum()

    def weight(one, two):
        return 1 - abs(one - two) / (k - 1) if ordered else float(one == two)

    e = sum(share[j] * share[i] * weight(j, i) for j in range(k) for i in range(k))
    return lambda own, other: (weight(own, other) - e) / (1 - e)


def fitted(score, pairs, d, ridge=10):
    """mu, and the raters' effects by a dense solution."""
    s = 1 if score == "agreement" else -1
    values = [d(own[2], other[2]) for own, other in pairs]
    mu = float(np.mean(values)) if s == 1 else 0.0
    raters = sorted({own[1] for own, _ in pairs})
    place = {rater: number for number, rater in enumerate(raters)}
    matrix = ridge * np.eye(len(raters))
    right = np.zeros(len(raters))
    for (own, other), value in zip(pairs, values, strict=True):
        g, h = place[own[1]], place[other[1]]
        matrix[g, g] += 1
        matrix[g, h] += s
        right[g] += value - mu
    return mu, dict(zip(raters, np.linalg.solve(matrix, right), strict=True)), s


def scores(score, rows, k, *, ordered):
    """(rater, item) -> x, common weeks taken out of agreement; rows without a time have day None."""
    pairs = comparisons(rows)
    d = difference(score, rows, k, ordered)
    mu, a, s = fitted(score, pairs, d)
    left = defaultdict(list)
    for own, other in pairs:
        left[own[1], own[0], own[3]].append(d(own[2], other[2]) - s * a[other[1]])
    x = {key: float(np.mean(values)) for key, values in left.items()}
    if score == "agreement" and len(a) >= 3:
        residuals = [
            (own[1], other[1], None if own[3] is None else own[3] // 7,
             d(own[2], other[2]) - mu - a[own[1]] - a[other[1]])
            for own, other in pairs
        ]  # fmt: skip
        m = len(pairs) / len(x)
        for key in x:
            if key[2] is not None:
                x[key] -= common_week(key[0], key[2] // 7, residuals, m)
    return {key: value for key, value in x.items() if key[2] is not None}


def common_week(rater, week, residuals, m):
    s2 = float(np.var([r for *_, r in residuals]))
    weeks = sorted({w for _, _, w, _ in residuals if w is not None})
    of_week = {w: [r for _, _, v, r in residuals if v == w] for w in weeks}
    enough = [w for w in weeks if len(of_week[w]) / (2 * m) >= 5]
    if len(enough) < 3:
        return 0.0
    excess = 0.0
    for one, next_one in itertools.pairwise(enough):
        a, b = of_week[one], of_week[next_one]
        excess += (np.mean(b) - np.mean(a)) ** 2 - s2 * (2 * m / len(b) + 2 * m / len(a))
    k2 = max(0.0, excess / (2 * (len(enough) - 1 + 5)))
    others = [r for g, h, w, r in residuals if w == week and rater not in (g, h)]
    if not others:
        return 0.0
    n = len(others)
    return sum(others) / n * k2 / (k2 + 2 * m * s2 / n)


def day_sums(x):
    """rater -> list of (day, n, total, squares)."""
    of_day = defaultdict(list)
    for (rater, _, day), value in x.items():
        of_day[rater, day].append(value)
    found = defaultdict(list)
    for (rater, day), values in sorted(of_day.items()):
        found[rater].append((day, len(values), sum(values), sum(v * v for v in values)))
    return dict(found)


def evidence(days, *, s2, kappa2, side, omega, tolerance):
    """The sum of E_j for each day by weighted regressions in matrices, the Bayes factor as an
    integral; days are (n, total, squares)."""
    found = []
    for t in range(len(days)):
        total = 0.0
        for j in range(max(0, t - 249), t + 1):
            before, since = np.array(days[:j]), np.array(days[j : t + 1])
            if j == 0 or before[:, 0].sum() < 30 or since[:, 0].sum() < 10:
                continue
            total += onset_evidence(np.array(days[: t + 1]), j, s2, kappa2, side, omega, tolerance)
        found.append(total)
    return found


def onset_evidence(days, j, s2, kappa2, side, omega, tolerance, caution=None):
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
    found = 0.0
    for f, divisor, scale, share in factors:
        design = np.column_stack([np.ones(len(n)), f])
        inverse = np.linalg.inv(design.T @ w @ design)
        slope = (inverse @ design.T @ w @ (total / n))[1]
        theta = side * slope * n1 / (n1 + 2)
        spread = inverse[1, 1] * caution + (tolerance / divisor) ** 2
        found += share * bayes_factor(theta, spread, scale)
    return found


def bayes_factor(theta, variance, omega):
    """Mean likelihood ratio of N(shift, variance) against N(0, variance) over a half-normal
    shift."""

    def ratio(shift):
        exponent = (theta * shift - shift**2 / 2) / variance
        return 2 * stats.norm.pdf(shift, scale=omega) * np.exp(exponent)

    posterior = theta * omega**2 / (variance + omega**2)
    width = np.sqrt(variance * omega**2 / (variance + omega**2))
    low, high = max(0.0, posterior - 12 * width), max(posterior, 0.0) + 12 * width
    return integrate.quad(ratio, low, high, epsabs=0, epsrel=1e-11, limit=200)[0]

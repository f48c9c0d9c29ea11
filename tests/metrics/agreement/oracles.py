"""Compute the coefficients slowly from their definitions, in exact fractions.

Ratings are a list of items, each a list with one code or None a rater. Undefined is None.
"""

from fractions import Fraction
from itertools import permutations


def identity_weights(k):
    return [[Fraction(j == m) for m in range(k)] for j in range(k)]


def linear_weights(k):
    return [[1 - Fraction(abs(j - m), k - 1) for m in range(k)] for j in range(k)]


def quadratic_weights(k):
    return [[1 - Fraction(j - m, k - 1) ** 2 for m in range(k)] for j in range(k)]


def compute_mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values) if values else None


def list_rated_items(ratings):
    """Return the codes of each item that has at least one."""
    items = [[code for code in row if code is not None] for row in ratings]
    return [codes for codes in items if codes]


def observed_agreement(ratings, w):
    """Return the mean over items of the mean weight of ordered pairs of different ratings."""
    items = [codes for codes in list_rated_items(ratings) if len(codes) >= 2]
    return compute_mean(compute_mean(w[a][b] for a, b in permutations(codes, 2)) for codes in items)


def correct_for_chance(observed_value, expected_value):
    if observed_value is None or expected_value is None or expected_value == 1:
        return None
    return (observed_value - expected_value) / (1 - expected_value)


def expected_agreement(share, w):
    k = len(share)
    return sum(w[j][m] * share[j] * share[m] for j in range(k) for m in range(k))


def pooled_share(ratings, k):
    codes = [code for item in list_rated_items(ratings) for code in item]
    return [Fraction(codes.count(j), len(codes)) for j in range(k)] if codes else None


def item_share(ratings, k):
    items = list_rated_items(ratings)
    return (
        [compute_mean(Fraction(codes.count(j), len(codes)) for codes in items) for j in range(k)]
        if items
        else None
    )


def percent_agreement(ratings, k, w):
    return observed_agreement(ratings, w)


def fleiss_kappa(ratings, k, w):
    share = pooled_share(ratings, k)
    return (
        None
        if share is None
        else correct_for_chance(observed_agreement(ratings, w), expected_agreement(share, w))
    )


def fleiss_kappa_gwet(ratings, k, w):
    share = item_share(ratings, k)
    return (
        None
        if share is None
        else correct_for_chance(observed_agreement(ratings, w), expected_agreement(share, w))
    )


def gwet_ac(ratings, k, w):
    share = item_share(ratings, k)
    if share is None:
        return None
    total = sum(map(sum, w))
    return correct_for_chance(
        observed_agreement(ratings, w), total * sum(p * (1 - p) for p in share) / (k * (k - 1))
    )


def brennan_prediger(ratings, k, w):
    return correct_for_chance(observed_agreement(ratings, w), sum(map(sum, w)) / Fraction(k**2))


def conger_kappa(ratings, k, w):
    """Return Conger's kappa.

    Chance agreement is the mean over ordered pairs of different raters of the mean weight of
    independent ratings.
    """
    columns = [
        [code for code in column if code is not None] for column in zip(*ratings, strict=True)
    ]
    shares = [
        [Fraction(codes.count(j), len(codes)) for j in range(k)] for codes in columns if codes
    ]
    pairs = list(permutations(shares, 2))
    if not pairs:
        return None
    cells = [(j, m) for j in range(k) for m in range(k)]
    pe = compute_mean(sum(w[j][m] * p[j] * q[m] for j, m in cells) for p, q in pairs)
    return correct_for_chance(observed_agreement(ratings, w), pe)


def list_shared_pairs(ratings, a, b):
    return [(row[a], row[b]) for row in ratings if row[a] is not None and row[b] is not None]


def cohen_kappa(ratings, k, w, a=0, b=1):
    pairs = list_shared_pairs(ratings, a, b)
    if not pairs:
        return None
    po = compute_mean(w[x][y] for x, y in pairs)
    return correct_for_chance(po, compute_mean(w[x][y] for x, _ in pairs for _, y in pairs))


def scott_pi(ratings, k, w):
    pairs = list_shared_pairs(ratings, 0, 1)
    if not pairs:
        return None
    all_codes = [code for pair in pairs for code in pair]
    return correct_for_chance(
        compute_mean(w[x][y] for x, y in pairs),
        compute_mean(w[x][y] for x in all_codes for y in all_codes),
    )


def krippendorff_alpha(ratings, k, metric, values):
    """Return 1 - D_o / D_e of pairs of values within items and of pairs regardless of items."""
    items = [codes for codes in list_rated_items(ratings) if len(codes) >= 2]
    all_codes = [code for codes in items for code in codes]
    if not all_codes:
        return None

    def compute_distance(c, m):
        if metric == "nominal":
            return Fraction(c != m)
        if metric == "interval":
            return Fraction(values[c] - values[m]) ** 2
        if metric == "ratio":
            total = values[c] + values[m]
            return Fraction(values[c] - values[m], total) ** 2 if total else Fraction(0)
        low, high = min(c, m), max(c, m)
        between = sum(all_codes.count(g) for g in range(low, high + 1))
        return (between - Fraction(all_codes.count(c) + all_codes.count(m), 2)) ** 2

    n = len(all_codes)
    do = (
        sum(
            sum(compute_distance(a, b) for a, b in permutations(codes, 2)) / (len(codes) - 1)
            for codes in items
        )
        / n
    )
    de = sum(compute_distance(a, b) for a, b in permutations(all_codes, 2)) / Fraction(n * (n - 1))
    return None if de == 0 else 1 - do / de

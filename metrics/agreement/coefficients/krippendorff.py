"""Krippendorff's alpha: one minus observed over expected disagreement, on items with two or more
ratings.

    o_cl = sum_i n_ic (n_il - [c = l]) / (m_i - 1),   n_c = row sums,   N = sum n_c
    alpha = 1 - (N - 1) sum_cl o_cl d_cl / sum_cl n_c n_l d_cl

    nominal   d_cl = [c != l]
    ordinal   d_cl = (sum of n_g over g = c..l  -  (n_c + n_l) / 2)^2: the squared distance of
              mean ranks
    interval  d_cl = (v_c - v_l)^2
    ratio     d_cl = ((v_c - v_l) / (v_c + v_l))^2, 0 where v_c + v_l = 0

Krippendorff 2011, Computing Krippendorff's alpha-reliability; 2019, Content Analysis, 4th ed.,
ch. 12. Standard error as irrCAC's krippen.alpha.raw (Gwet 2014); none for ordinal, whose metric
depends on the margins.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ERROR,
    NO_PAIRS,
    ONE_CATEGORY,
    Coefficient,
    Example,
    Formula,
    Values,
)
from metrics.agreement.counts.sums import PatternSums, pattern_sums
from metrics.agreement.estimate import CODE, Basis, Corrected, Estimate, Floats, divided, estimated
from metrics.agreement.glossary import gettext_noop as _

METRICS = ("nominal", "ordinal", "interval", "ratio")
_CELLS = 1 << 24  # of pattern coincidences (P, k, k) that are held at once


def distances(metric: str, k: int, values: npt.ArrayLike | None = None) -> Floats:
    """d (k, k) of the nominal, interval and ratio metric, scaled to a largest distance of 1."""
    if metric == "nominal":
        return 1 - np.eye(k)
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    if v.shape != (k,) or not np.isfinite(v).all():
        raise ValueError(f"values must be {k} finite numbers, one for each category")
    difference, total = v[:, None] - v[None, :], v[:, None] + v[None, :]
    if metric == "ratio":
        d = np.where(total == 0, 0.0, difference / np.where(total == 0, 1.0, total)) ** 2
    elif metric == "interval":
        d = difference**2
    else:
        raise ValueError(f"unknown metric {metric!r}; one of {', '.join(METRICS)}")
    scaled: Floats = d / (d.max() or 1.0)
    return scaled


def krippendorff_alpha(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    metric: str = "nominal",
    values: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Patterns (P, k), numbers of items (..., P), category values (k,) -> Estimate (...).

    observed and expected are 1 - D_o and 1 - D_e (the share of agreement that alpha compares), the
    latter with Krippendorff's N - 1.
    """
    sums = sums or pattern_sums(counts, n_items)
    if metric == "ordinal":
        return _ordinal(sums)
    return _of_distance(sums, distances(metric, sums.k, values), interval=interval)


def alpha(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, distance: npt.ArrayLike, *, interval: bool = True
) -> Estimate:
    """Alpha with any distance d (k, k): symmetric, not negative, 0 on the diagonal; ValueError
    otherwise. Patterns (P, k), numbers of items (..., P) -> Estimate (...)."""
    sums = pattern_sums(counts, n_items)
    d = np.asarray(distance, float)
    if d.shape != (sums.k, sums.k):
        raise ValueError(f"the distances must be {sums.k} x {sums.k}, not of shape {d.shape}")
    if not np.isfinite(d).all() or (d < 0).any() or (d != d.T).any() or np.diag(d).any():
        raise ValueError("distances must be finite, not negative, symmetric, 0 on the diagonal")
    return _of_distance(sums, d / (d.max() or 1.0), interval=interval)


def _of_distance(sums: PatternSums, d: Floats, *, interval: bool) -> Estimate:
    paired = np.where(sums.pairable, 1 / np.maximum(sums.sizes - 1, 1), 0.0)
    disagreement = ((sums.counts @ d) * sums.counts).sum(axis=1) * paired
    margins = _margins(sums)
    total = sums.pairable_ratings
    observed = divided(sums.n_items @ disagreement, total)
    pooled = divided(np.einsum("...j,jl,...l->...", margins, d, margins), total**2)
    point = _alpha(observed, pooled, total)
    if not interval:
        return estimated(point, None, _basis(sums))
    spread = _spread(sums, (disagreement, d), (observed, pooled), margins)
    return estimated(point, sums.standard_error(spread, sums.n2), _basis(sums))


def _alpha(observed: Floats, pooled: Floats, total: Floats) -> Corrected:
    """From the mean observed disagreement and the expected one of pairs drawn with replacement."""
    with np.errstate(invalid="ignore"):
        singular = ~(pooled > 1e-12)
    reason = np.where(
        total == 0, CODE["no_pairable_items"], np.where(singular, CODE["single_category"], 0)
    )
    expected = pooled * divided(total, total - 1)
    value = np.where(reason == 0, 1 - divided(observed, expected), np.nan)
    return Corrected(1 - observed, 1 - expected, value, reason)


def _spread(
    sums: PatternSums,
    items: tuple[Floats, Floats],
    disagreement: tuple[Floats, Floats],
    margins: Floats,
) -> Floats:
    """irrCAC: x_i = (pa_i - p_e) / (1 - p_e) - 2 (1 - a) (pe_i - p_e) / (1 - p_e), sum of (x_i -
    a)^2.

    With r the mean number of ratings, p = n_c / N, a = alpha without the finite-sample term, p_a
    the observed agreement with it and d_i an item's disagreement: pa_i = (m_i - d_i) / r - p_a (m_i
    - r) / r,   pe_i = n_i'Wp / r - p_e (m_i - r) / r.
    """
    d_item, d = items
    observed, room = disagreement
    total = sums.pairable_ratings
    p = divided(margins, total[..., None])
    pa, pe, a = 1 - observed * (1 - divided(1.0, total)), 1 - room, 1 - divided(observed, room)
    pull = 2 * (1 - a)
    pair = sums.pairable.astype(float)
    per = divided(sums.n2, total * room)
    return sums.spread(
        [
            (-per, d_item),
            (per * (1 - pa + pull * pe), sums.sizes * pair),
            (-(per * pull)[..., None] * (1 - p @ d), sums.counts * pair[:, None]),
            (divided(pa - pe, room) - a, pair),
        ]
    )


def _ordinal(sums: PatternSums) -> Estimate:
    margins = _margins(sums)
    total = sums.pairable_ratings
    rank = np.cumsum(margins, axis=-1) - margins / 2
    d = (rank[..., :, None] - rank[..., None, :]) ** 2 / np.maximum(total, 1)[..., None, None] ** 2
    observed = divided((coincidences(sums) * d).sum(axis=(-2, -1)), total)
    pooled = divided(np.einsum("...j,...jl,...l->...", margins, d, margins), total**2)
    return estimated(_alpha(observed, pooled, total), None, _basis(sums))


def coincidences(sums: PatternSums) -> Floats:
    """o (..., k, k): each item's ordered pairs of ratings, weighted 1 / (m - 1)."""
    some = sums.pairable
    counts, n_items = sums.counts[some], sums.n_items[..., some]
    per_item = 1 / (sums.sizes[some] - 1)
    k = sums.k
    lead = n_items.shape[:-1]
    total = np.zeros((*lead, k * k))
    step = max(1, _CELLS // (k * k))
    for start in range(0, len(counts), step):
        rows = slice(start, start + step)
        c = counts[rows]
        pairs = c[:, :, None] * c[:, None, :]
        pairs[:, np.arange(k), np.arange(k)] -= c
        total += (n_items[..., rows] * per_item[rows]) @ pairs.reshape(len(c), k * k)
    return total.reshape(*lead, k, k)


def _margins(sums: PatternSums) -> Floats:
    """n_c (..., k) over items with two or more ratings."""
    margins: Floats = sums.n_items @ (sums.counts * sums.pairable[:, None])
    return margins


def _basis(sums: PatternSums) -> Basis:
    return Basis(sums.n2.astype(np.int64), sums.pairable_ratings.astype(np.int64), sums.n2 - 1)


_ALPHA = "alpha = 1 - (N - 1) sum o_cl d_cl / sum n_c n_l d_cl,   "
_IRRCAC = "irrCAC krippen.alpha.raw, t(n2 - 1)"


def _example(name: str, value: str) -> Example:
    case = "10_krippendorff2011_gwet_4raters"
    return Example(case=case, name=name, value=value, printed="Krippendorff 2011")


KRIPPENDORFF_NOMINAL = Coefficient(
    name="krippendorff_alpha_nominal",
    called=_("Krippendorff’s alpha, nominal"),
    says=_(
        "Agreement beyond chance of any raters with any ratings missing, corrected for few "
        "items. Categories are the same or not. 0.8 and more is customary, 0.667 the least."
    ),
    formula=_ALPHA + "d_cl = [c != l]",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=_IRRCAC,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_example("krippendorff_alpha_nominal", "0.743"),
    of_patterns=Formula(partial(krippendorff_alpha, metric="nominal")),
)

KRIPPENDORFF_ORDINAL = Coefficient(
    name="krippendorff_alpha_ordinal",
    called=_("Krippendorff’s alpha, ordinal"),
    says=_(
        "Krippendorff’s alpha where categories have an order: a disagreement weighs more, the "
        "more ratings lie between the two categories."
    ),
    formula=_ALPHA + "d_cl = (sum of n_g over g = c..l - (n_c + n_l) / 2)^2",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=NO_ERROR,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_example("krippendorff_alpha_ordinal", "0.815"),
    of_patterns=Formula(partial(krippendorff_alpha, metric="ordinal")),
    ordered=True,
)

KRIPPENDORFF_INTERVAL = Coefficient(
    name="krippendorff_alpha_interval",
    called=_("Krippendorff’s alpha, interval"),
    says=_(
        "Krippendorff’s alpha where categories are numbers: a disagreement weighs as its "
        "squared difference."
    ),
    formula=_ALPHA + "d_cl = (v_c - v_l)^2",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=_IRRCAC,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_example("krippendorff_alpha_interval", "0.849"),
    of_patterns=Formula(partial(krippendorff_alpha, metric="interval"), values=Values.GIVEN),
    numeric=True,
)

KRIPPENDORFF_RATIO = Coefficient(
    name="krippendorff_alpha_ratio",
    called=_("Krippendorff’s alpha, ratio"),
    says=_(
        "Krippendorff’s alpha where numbers have a true zero: a difference weighs in "
        "proportion to the size of the numbers."
    ),
    formula=_ALPHA + "d_cl = ((v_c - v_l) / (v_c + v_l))^2, 0 where v_c + v_l = 0",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=_IRRCAC,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_example("krippendorff_alpha_ratio", "0.797"),
    of_patterns=Formula(partial(krippendorff_alpha, metric="ratio"), values=Values.FROM_ZERO),
    numeric=True,
)

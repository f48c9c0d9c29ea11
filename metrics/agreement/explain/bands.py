"""What a value means in words: the customary bands, and how sure the band is given the interval.

Each scheme's bands follow its printed table, half-open and without gaps: where it prints
"0.21-0.40" after "0.00-0.20", a value belongs to the lower band up to and including 0.20 and to the
next from there on.

SOURCES names what was printed where; Krippendorff's are the customary cut-offs for alpha.

The probability of a band is Gwet's benchmarking (2014, ch. 6): the share in the band of a
distribution around the value, cut off at -1 and 1. Gwet takes the normal one; here it is Student's
t of the interval that stands beside the word, so that the two say the same of few items.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from metrics.agreement.estimate import LEVEL


@dataclass(frozen=True)
class Band:
    """A band reaches from `low` (itself included or not) to where the next one begins."""

    name: str
    words: str
    low: float
    includes_low: bool


def _bands(*parts: tuple[str, float], includes_low: bool) -> tuple[Band, ...]:
    first, *rest = parts
    return (
        Band(first[0].replace(" ", "_"), first[0], -np.inf, True),
        *(Band(words.replace(" ", "_"), words, low, includes_low) for words, low in rest),
    )


_POOR, _SLIGHT, *_ABOVE = _bands(
    ("poor", -np.inf),
    ("slight", 0.0),
    ("fair", 0.2),
    ("moderate", 0.4),
    ("substantial", 0.6),
    ("almost perfect", 0.8),
    includes_low=False,
)

SCHEMES: dict[str, tuple[Band, ...]] = {
    "landis_koch": (_POOR, Band("slight", "slight", 0.0, includes_low=True), *_ABOVE),
    "fleiss": (
        Band("poor", "poor", -np.inf, includes_low=True),
        Band("fair_to_good", "fair to good", 0.4, includes_low=True),
        Band("excellent", "excellent", 0.75, includes_low=False),
    ),
    "altman": _bands(
        ("poor", -np.inf),
        ("fair", 0.2),
        ("moderate", 0.4),
        ("good", 0.6),
        ("very good", 0.8),
        includes_low=False,
    ),
    "cicchetti": _bands(
        ("poor", -np.inf), ("fair", 0.4), ("good", 0.6), ("excellent", 0.75), includes_low=True
    ),
    "krippendorff": _bands(
        ("unreliable", -np.inf), ("tentative", 0.667), ("reliable", 0.8), includes_low=True
    ),
}

NORMAL = float(special.ndtri((1 + LEVEL) / 2))  # t's quantile, as its degrees of freedom grow
FEW_ITEMS = 30  # an interval without width rests on more
UNSURE = 2  # bands: an interval that is wider has no word

SOURCES = {
    "landis_koch": "Landis & Koch 1977, Biometrics 33, 159-174",
    "fleiss": "Fleiss 1981, Statistical Methods for Rates and Proportions, 2nd ed., p. 218",
    "altman": "Altman 1991, Practical Statistics for Medical Research, p. 404",
    "cicchetti": "Cicchetti 1994, Psychological Assessment 6, 284-290",
    "krippendorff": "Krippendorff 2004, Human Communication Research 30, 411-433",
}


# What a scheme's words were made for; for other coefficients they are a loose guide.
MADE_FOR = {
    "landis_koch": ("kappa",),
    "fleiss": ("kappa",),
    "altman": ("kappa",),
    "cicchetti": ("kappa", "icc"),
    "krippendorff": ("krippendorff_alpha",),
}
NOISE = 12  # decimals: what lies below is rounding, and 0 is 0
WRITTEN = 2  # decimals of a value on a page: what is written 0.00 has the word of 0


def fits(name: str, scheme: str) -> bool:
    """Whether the scheme's words were made for this coefficient."""
    return any(kind in name for kind in MADE_FOR[scheme])


def bands(scheme: str) -> tuple[Band, ...]:
    """The bands of a scheme in ascending order."""
    if scheme not in SCHEMES:
        raise ValueError(f"unknown scheme {scheme!r}; one of {', '.join(SCHEMES)}")
    return SCHEMES[scheme]


def band_of(value: float | None, scheme: str = "landis_koch") -> Band | None:
    """The band of a value; None for an undefined value."""
    if value is None:
        return None
    value = round(value, NOISE) if round(value, WRITTEN) else 0.0
    reached = [
        band
        for band in bands(scheme)
        if value > band.low or (band.includes_low and value == band.low)
    ]
    return reached[-1]


def freedom(value: float | None, low: float | None, se: float | None) -> float:
    """The degrees of freedom of an interval value -/+ t se, from its lower end (the upper one may
    be clipped); infinite without one."""
    if value is None or low is None or not se:
        return np.inf
    quantile = (value - low) / se
    if quantile <= NORMAL:
        return np.inf
    return float(special.stdtridf((1 + LEVEL) / 2, quantile))


def band_probabilities(
    value: float | None, se: float | None, scheme: str = "landis_koch", *, df: float = np.inf
) -> dict[str, float] | None:
    """Band name -> probability that the true value lies in it; None without a value or a standard
    error. `df` are those of its interval."""
    if value is None or se is None:
        return None
    found = bands(scheme)
    if se == 0:
        certain = band_of(value, scheme)
        return {band.name: float(band is certain) for band in found}
    edges = np.clip([band.low for band in found] + [np.inf], -1, 1)
    steps = (edges - value) / se
    below = special.ndtr(steps) if np.isinf(df) else special.stdtr(df, steps)
    shares = (
        np.diff(below) / (below[-1] - below[0]) if below[-1] > below[0] else np.zeros(len(found))
    )
    return {band.name: float(share) for band, share in zip(found, shares, strict=True)}


def safe_band(
    value: float | None,
    se: float | None,
    scheme: str = "landis_koch",
    *,
    df: float = np.inf,
    probability: float = LEVEL,
) -> Band | None:
    """The highest band that the true value reaches or passes with this probability (Gwet's
    benchmark)."""
    shares = band_probabilities(value, se, scheme, df=df)
    if shares is None:
        return None
    total = 0.0
    for band in reversed(bands(scheme)):
        total += shares[band.name]
        if total >= probability:
            return band
    return bands(scheme)[0]


def too_early(
    n_items: int | None, low: float | None, high: float | None, scheme: str = "landis_koch"
) -> bool:
    """Whether a word would say more than is known: of a single item, which has no interval, of one
    that is too wide, or of few items that all agree, so that it has no width at all."""
    alike = without_width(low, high) and n_items is not None and n_items < FEW_ITEMS
    return n_items == 1 or alike or too_wide(low, high, scheme)


def without_width(low: float | None, high: float | None) -> bool:
    """Whether both ends of an interval are the same, but for the rounding of a computer."""
    return low is not None and high is not None and abs(high - low) < 1e-9


def too_wide(low: float | None, high: float | None, scheme: str = "landis_koch") -> bool:
    """Whether the word for the middle of an interval would say more than is known: it touches more
    than three bands, or three and is wider than two of those between 0 and 1."""
    order = bands(scheme)
    first, last = band_of(low, scheme), band_of(high, scheme)
    if low is None or high is None or first is None or last is None:
        return False
    passed = order.index(last) - order.index(first)
    between_0_and_1 = 1 + sum(band.low > 0 for band in order)
    is_wide = (high - low) * between_0_and_1 > UNSURE
    return passed > UNSURE or (passed == UNSURE and is_wide)

"""Customary interpretation bands of a coefficient, and their probability given its interval.

Each scheme's bands follow its printed table, half-open and without gaps: where it prints
"0.21-0.40" after "0.00-0.20", a value belongs to the lower band up to and including 0.20 and to the
next from there on.

SOURCES names the publications; Krippendorff's are the customary cut-offs for alpha.

The probability of a band is Gwet's benchmarking (2014, ch. 6): the share in the band of a
distribution around the value, truncated to -1..1. Gwet uses the normal distribution; here it is
Student's t of the interval shown with the band, so that both agree when there are few items.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import special

from metrics.agreement.estimate import CONFIDENCE_LEVEL


@dataclass(frozen=True)
class Band:
    """An interpretation band, from `low` (included or not) to the start of the next band."""

    name: str
    label: str
    low: float
    includes_low: bool


def _build_bands(*label_and_low: tuple[str, float], includes_low: bool) -> tuple[Band, ...]:
    """Build the bands of a scheme from (label, low) pairs in ascending order.

    The first band has no lower end.
    """
    first, *others = label_and_low
    return (
        Band(first[0].replace(" ", "_"), first[0], -np.inf, True),
        *(Band(label.replace(" ", "_"), label, low, includes_low) for label, low in others),
    )


_POOR_BAND, _SLIGHT, *_HIGHER_BANDS = _build_bands(
    ("poor", -np.inf),
    ("slight", 0.0),
    ("fair", 0.2),
    ("moderate", 0.4),
    ("substantial", 0.6),
    ("almost perfect", 0.8),
    includes_low=False,
)

SCHEMES: dict[str, tuple[Band, ...]] = {
    "landis_koch": (_POOR_BAND, Band("slight", "slight", 0.0, includes_low=True), *_HIGHER_BANDS),
    "fleiss": (
        Band("poor", "poor", -np.inf, includes_low=True),
        Band("fair_to_good", "fair to good", 0.4, includes_low=True),
        Band("excellent", "excellent", 0.75, includes_low=False),
    ),
    "altman": _build_bands(
        ("poor", -np.inf),
        ("fair", 0.2),
        ("moderate", 0.4),
        ("good", 0.6),
        ("very good", 0.8),
        includes_low=False,
    ),
    "cicchetti": _build_bands(
        ("poor", -np.inf), ("fair", 0.4), ("good", 0.6), ("excellent", 0.75), includes_low=True
    ),
    "krippendorff": _build_bands(
        ("unreliable", -np.inf), ("tentative", 0.667), ("reliable", 0.8), includes_low=True
    ),
}

# Two raters who toss coins on five items differ on all of them with 0.5^5 = 3%: too often for a 95%
# interval (2.5% on one side) to say anything.
MIN_ITEMS_FOR_BAND = 6
MIN_ITEMS_ZERO_WIDTH = 30  # an interval of zero width is trusted from this number of items on
MAX_BANDS_SPANNED = 2  # a wider interval, in bands, gets no band

SOURCES = {
    "landis_koch": "Landis & Koch 1977, Biometrics 33, 159-174",
    "fleiss": "Fleiss 1981, Statistical Methods for Rates and Proportions, 2nd ed., p. 218",
    "altman": "Altman 1991, Practical Statistics for Medical Research, p. 404",
    "cicchetti": "Cicchetti 1994, Psychological Assessment 6, 284-290",
    "krippendorff": "Krippendorff 2004, Human Communication Research 30, 411-433",
}


# Coefficients a scheme was designed for; for others its bands are a loose guide.
INTENDED_COEFFICIENTS = {
    "landis_koch": ("kappa",),
    "fleiss": ("kappa",),
    "altman": ("kappa",),
    "cicchetti": ("kappa", "icc"),
    "krippendorff": ("krippendorff_alpha",),
}
ROUNDING_DECIMALS = 12  # decimals: smaller differences are floating-point rounding
DISPLAY_DECIMALS = 2  # decimals shown on a page: a value shown as 0.00 has the band of 0


def is_designed_for(name: str, scheme: str) -> bool:
    """Return whether the scheme was designed for the coefficient with this name."""
    return any(kind in name for kind in INTENDED_COEFFICIENTS[scheme])


def get_bands(scheme: str) -> tuple[Band, ...]:
    """Return the bands of a scheme in ascending order.

    Raises ValueError, which lists the valid schemes, for another one.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"unknown scheme {scheme!r}; one of {', '.join(SCHEMES)}")
    return SCHEMES[scheme]


def find_band(value: float | None, scheme: str = "landis_koch") -> Band | None:
    """Return the band of a value; None for the value None.

    Raises ValueError for an unknown scheme.
    """
    if value is None:
        return None
    value = round(value, ROUNDING_DECIMALS) if round(value, DISPLAY_DECIMALS) else 0.0
    reached = [
        band
        for band in get_bands(scheme)
        if value > band.low or (band.includes_low and value == band.low)
    ]
    return reached[-1]


def is_low(value: float, scheme: str = "landis_koch") -> bool:
    """Return whether the band of a value is in the lower half of the scheme."""
    scheme_bands = get_bands(scheme)
    band = find_band(value, scheme)
    return band is not None and scheme_bands.index(band) < len(scheme_bands) // 2


def band_probabilities(
    value: float | None, se: float | None, scheme: str = "landis_koch", *, df: float = np.inf
) -> dict[str, float] | None:
    """Return band name -> probability that the true value lies in it.

    se: standard error; df: degrees of freedom of the interval, infinite for a normal one. None
    without a value or a standard error. Raises ValueError for an unknown scheme.
    """
    if value is None or se is None:
        return None
    scheme_bands = get_bands(scheme)
    if se == 0:
        only_band = find_band(value, scheme)
        return {band.name: float(band is only_band) for band in scheme_bands}
    edges = np.clip([band.low for band in scheme_bands] + [np.inf], -1, 1)
    steps = (edges - value) / se
    below = special.ndtr(steps) if np.isinf(df) else special.stdtr(df, steps)
    shares = (
        np.diff(below) / (below[-1] - below[0])
        if below[-1] > below[0]
        else np.zeros(len(scheme_bands))
    )
    return {band.name: float(share) for band, share in zip(scheme_bands, shares, strict=True)}


def find_benchmark_band(
    value: float | None,
    se: float | None,
    scheme: str = "landis_koch",
    *,
    df: float = np.inf,
    probability: float = CONFIDENCE_LEVEL,
) -> Band | None:
    """Return the highest band that the true value reaches with at least this probability.

    This is Gwet's benchmarking. se: standard error; df: degrees of freedom. The lowest band is
    returned if no other one is reached; None without a value or a standard error.
    """
    shares = band_probabilities(value, se, scheme, df=df)
    if shares is None:
        return None
    cumulative = 0.0
    for band in reversed(get_bands(scheme)):
        cumulative += shares[band.name]
        if cumulative >= probability:
            return band
    return get_bands(scheme)[0]


def is_inconclusive(
    n_items: int | None, low: float | None, high: float | None, scheme: str = "landis_koch"
) -> bool:
    """Return whether the items are too few, or the interval is too wide, to name a band.

    Items are too few below MIN_ITEMS_FOR_BAND, or below MIN_ITEMS_ZERO_WIDTH if the interval has no
    width because all agree; an unknown number (None) counts as enough. Without an interval (low or
    high None), only the number of items decides.
    """
    unanimous_few = (
        has_zero_width(low, high) and n_items is not None and n_items < MIN_ITEMS_ZERO_WIDTH
    )
    too_few = n_items is not None and n_items < MIN_ITEMS_FOR_BAND
    return too_few or unanimous_few or is_too_wide(low, high, scheme)


def has_zero_width(low: float | None, high: float | None) -> bool:
    """Return whether both ends of an interval are equal up to rounding; False for None."""
    return low is not None and high is not None and abs(high - low) < 1e-9


def are_in_adjacent_bands(values: Iterable[float | None], scheme: str = "landis_koch") -> bool:
    """Return whether all values except None lie in one band, or in two adjacent bands."""
    order = get_bands(scheme)
    bands = [find_band(value, scheme) for value in values]
    steps = [order.index(band) for band in bands if band is not None]
    return not steps or max(steps) - min(steps) <= 1


def is_too_wide(low: float | None, high: float | None, scheme: str = "landis_koch") -> bool:
    """Return whether an interval spans too many bands to name one.

    It touches more than three bands, or it touches three and is wider than two average bands
    between 0 and 1. False without an interval (low or high None).
    """
    order = get_bands(scheme)
    first, last = find_band(low, scheme), find_band(high, scheme)
    if low is None or high is None or first is None or last is None:
        return False
    bands_crossed = order.index(last) - order.index(first)
    between_0_and_1 = 1 + sum(band.low > 0 for band in order)
    is_wide = (high - low) * between_0_and_1 > MAX_BANDS_SPANNED
    return bands_crossed > MAX_BANDS_SPANNED or (bands_crossed == MAX_BANDS_SPANNED and is_wide)

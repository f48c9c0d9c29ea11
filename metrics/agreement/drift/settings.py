"""The numbers that the alarms of drift rest on, all in one place; the defaults are those that were
measured (benchmarks/alarms.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

AGREEMENT, UP, DOWN = "agreement", "up", "down"
BIAS = "bias"  # the score of the channels `up` and `down`
SCORE = {AGREEMENT: AGREEMENT, UP: BIAS, DOWN: BIAS}
# A shift in this direction counts as evidence.
SIDE = {AGREEMENT: -1, UP: 1, DOWN: -1}


@dataclass(frozen=True)
class Prior:
    """What evidence() assumes of a shift, and when it says nothing.

    omega: scale of the half-normal shift, in units of the score
    tolerance: a shift of this size is nobody's concern
    least_before, least_since: items that an onset needs before it, and since
    pseudo: items without a shift, by which a short time since the onset is shrunk
    caution: items that the difference of the means counts as, against skew
    step: share of the step; the rest goes to the ramps in equal parts
    ramps: a ramp's daily slope has the scale omega / (one of these numbers)
    window: onsets this many active days back, or more, are not looked at
    """

    omega: float
    tolerance: float
    least_before: int = 30
    least_since: int = 10
    pseudo: float = 2.0
    caution: float = 10.0
    step: float = 0.5
    ramps: tuple[float, ...] = (3.0, 10.0, 30.0)
    window: int = 250


PRIORS = {
    AGREEMENT: Prior(omega=0.20, tolerance=0.015),  # kappa units
    UP: Prior(omega=0.40, tolerance=0.02),  # ranks
    DOWN: Prior(omega=0.40, tolerance=0.02),
}


@dataclass(frozen=True)
class Settings:
    """What alarms() assumes.

    alarm, watch: evidence at which a rater is alarmed, and looked at
    priors: of each channel
    nominal, ordered: share of each channel on nominal (or two categories) and ordered scales
    wobble: standard deviation of a rater's days expected before any data, of each score
    floor: least variance of an item's score, of each score
    prior_items, prior_days: what the pooled variances count for in a rater's own
    ridge: comparisons without an effect that each rater is given
    apart: agreement below the middle of the others, in kappa units, that is nobody's concern
    """

    alarm: float = 5_000.0
    watch: float = 250.0
    priors: Mapping[str, Prior] = field(default_factory=lambda: PRIORS)
    nominal: Mapping[str, float] = field(default_factory=lambda: {AGREEMENT: 1.0})
    ordered: Mapping[str, float] = field(
        default_factory=lambda: {AGREEMENT: 1 / 3, UP: 1 / 3, DOWN: 1 / 3}
    )
    wobble: Mapping[str, float] = field(default_factory=lambda: {AGREEMENT: 0.05, BIAS: 0.08})
    floor: Mapping[str, float] = field(default_factory=lambda: {AGREEMENT: 0.05, BIAS: 0.12})
    prior_items: float = 30.0
    prior_days: float = 10.0
    ridge: float = 10.0
    apart: float = 0.1

    def shares(self, k: int, *, ordered: bool) -> Mapping[str, float]:
        """Channel -> its share. Two categories have no rank to be mild in beyond agreement."""
        return self.ordered if ordered and k >= 3 else self.nominal

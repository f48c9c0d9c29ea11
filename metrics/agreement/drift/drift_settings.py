"""Settings of drift detection; the defaults are those that were measured (benchmarks/alerts.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

AGREEMENT, UP, DOWN = "agreement", "up", "down"
BIAS = "bias"  # the score of the channels `up` and `down`
SCORE_OF_CHANNEL = {AGREEMENT: AGREEMENT, UP: BIAS, DOWN: BIAS}
# The direction of a shift that counts as evidence.
SIDE_OF_CHANNEL = {AGREEMENT: -1, UP: 1, DOWN: -1}


@dataclass(frozen=True)
class ShiftPrior:
    """Prior of a shift of one channel, and limits below which there is no evidence.

    omega: scale of the half-normal shift, in units of the score
    tolerance: a shift of this size is irrelevant
    least_before, least_since: least items before an onset, and from it on
    least_days_before, least_days_since: least active days before an onset, and from it on
    pseudo: items without a shift, by which a short time since the onset is shrunk
    skew_prior_items: weight, in items, of the shift of the mean in the variance since the onset
    step: prior probability of a step; the ramps share the rest equally
    ramps: a ramp's daily slope has the scale omega / (one of these numbers)
    window: onsets this many active days ago, or more, are not considered
    common_tolerance: standard deviation of a rater's part in a shift that is common to all, as a
        share of that shift
    """

    omega: float
    tolerance: float
    least_before: int = 30
    least_since: int = 10
    least_days_before: int = 1
    least_days_since: int = 1
    pseudo: float = 2.0
    skew_prior_items: float = 10.0
    step: float = 0.5
    ramps: tuple[float, ...] = (3.0, 10.0, 30.0)
    window: int = 250
    common_tolerance: float = 0.25


PRIORS = {
    AGREEMENT: ShiftPrior(omega=0.20, tolerance=0.015),  # kappa units
    UP: ShiftPrior(omega=0.40, tolerance=0.02),  # ranks
    DOWN: ShiftPrior(omega=0.40, tolerance=0.02),
}


@dataclass(frozen=True)
class DriftSettings:
    """Settings of drift detection.

    alert_level, watch_level: evidence at which a rater is alerted, and watched
    priors: prior of a shift in each channel
    nominal, ordered: channel -> share of the alert level, on nominal scales or with two categories,
        and on ordered scales
    prior_day_sd: score -> expected standard deviation of a rater's days before any data
    min_item_variance: score -> least variance of an item
    prior_items, prior_days: weight of the pooled variances, in items and days of a rater
    ridge: pseudo-comparisons without an effect that are added for each rater
    own_evidence: Bayes factor of a shift beyond what is common to all raters that an alert needs
    own_exponent: the same as a power of the Bayes factor of the whole shift: the larger the shift,
        the more of it must be the rater's own
    own_limit: largest Bayes factor that is needed, because the uncertain share of a rater in a
        common shift limits what the own part can reach
    tolerated_gap: agreement below the median of the others, in kappa units, that is irrelevant
    """

    alert_level: float = 5_000.0
    watch_level: float = 250.0
    priors: Mapping[str, ShiftPrior] = field(default_factory=lambda: PRIORS)
    nominal: Mapping[str, float] = field(default_factory=lambda: {AGREEMENT: 1.0})
    ordered: Mapping[str, float] = field(
        default_factory=lambda: {AGREEMENT: 1 / 3, UP: 1 / 3, DOWN: 1 / 3}
    )
    prior_day_sd: Mapping[str, float] = field(default_factory=lambda: {AGREEMENT: 0.05, BIAS: 0.08})
    min_item_variance: Mapping[str, float] = field(
        default_factory=lambda: {AGREEMENT: 0.05, BIAS: 0.12}
    )
    prior_items: float = 30.0
    prior_days: float = 10.0
    ridge: float = 10.0
    own_evidence: float = 5.0
    own_exponent: float = 0.25
    own_limit: float = 10_000.0
    tolerated_gap: float = 0.1

    def get_alert_level_shares(self, k: int, *, ordered: bool) -> Mapping[str, float]:
        """Return channel -> share of the alert level; no bias channels for two categories."""
        return self.ordered if ordered and k >= 3 else self.nominal

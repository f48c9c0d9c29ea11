"""A fitted model of Dawid and Skene (dawid_skene.py), and starting values for the next fit."""

from dataclasses import dataclass, field

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats


@dataclass(frozen=True)
class StartingValues:
    """Parameters of an earlier fit, from which the next one starts.

    raters (R,): ascending keys; confusion (R, k, k); classes (k,): shares of the true categories.
    Raters that it does not include start with the confusion of the prior.
    """

    raters: Ints
    confusion: Floats
    classes: Floats


@dataclass(frozen=True)
class DawidSkene:
    """A fitted model of Dawid and Skene; all arrays are NaN where `reason` is given.

    items (N,), raters (R,): ascending keys. posterior T (N, k); classes p (k,): shares of the true
    categories; confusion pi (R, k, k): true x given category. expected_counts (R, k): expected
    number of a rater's ratings of items of each true category. rounds: of expectation maximisation;
    converged: True if the last round changed no probability by the tolerance. log_posterior: after
    each round, up to a constant.
    """

    items: Ints
    raters: Ints
    posterior: Floats
    classes: Floats
    confusion: Floats
    expected_counts: Floats
    pooled_confusion: Floats  # (k, k), the confusion of all raters together
    rounds: int = 0
    converged: bool = False
    log_posterior: list[float] = field(default_factory=list)
    reason: str | None = None

    @property
    def k(self) -> int:
        return self.posterior.shape[1]

    @property
    def confidence(self) -> Floats:
        """The probability of each item's most probable category (N,)."""
        return self.posterior.max(axis=1, initial=0.0)

    @property
    def expected_errors(self) -> float | None:
        """The expected number of items with a wrong most probable category; None if undefined."""
        return None if self.reason else float((1 - self.confidence).sum())

    @property
    def accuracy(self) -> Floats:
        """The probability that a rater gives the true category of a random item (R,)."""
        return np.einsum("j,gjj->g", self.classes, self.confusion)

    @property
    def bias(self) -> Floats:
        """Mean ranks by which each rater answers above the true category of a random item (R,)."""
        rank = np.arange(self.k)
        step = rank[None, :] - rank[:, None]
        return np.einsum("j,gjl,jl->g", self.classes, self.confusion, step)

    def get_starting_values(self) -> StartingValues:
        """Return the parameters as starting values for the next fit."""
        return StartingValues(self.raters, self.confusion, self.classes)

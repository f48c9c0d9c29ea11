"""A fitted model of Dawid and Skene (model.py), and what the next fit can begin with."""

from dataclasses import dataclass, field

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats


@dataclass(frozen=True)
class Start:
    """Where to begin: confusion (R, k, k) and classes (k,) of an earlier fit, by rater key.

    Raters whom it does not know begin with the prior's confusion.
    """

    raters: Ints
    confusion: Floats
    classes: Floats


@dataclass(frozen=True)
class DawidSkene:
    """A fitted model. All arrays are not-a-number where `reason` is given.

    items (N,), raters (R,): ascending keys. posterior T (N, k); classes p (k,); confusion pi
    (R, k, k), true x said. expected (R, k): expected number of a rater's ratings of items that are
    truly j. rounds: of expectation maximisation; converged: whether the last one moved no
    probability by the tolerance. log_posterior: after each round, up to a constant.
    """

    items: Ints
    raters: Ints
    posterior: Floats
    classes: Floats
    confusion: Floats
    expected: Floats
    pooled: Floats  # (k, k): the confusion of all raters together
    rounds: int = 0
    converged: bool = False
    log_posterior: list[float] = field(default_factory=list)
    reason: str | None = None

    @property
    def k(self) -> int:
        return self.posterior.shape[1]

    @property
    def certainty(self) -> Floats:
        """(N,): the probability of each item's most probable category."""
        return self.posterior.max(axis=1, initial=0.0)

    @property
    def expected_errors(self) -> float | None:
        """How many items' most probable category is expected to be wrong."""
        return None if self.reason else float((1 - self.certainty).sum())

    @property
    def accuracy(self) -> Floats:
        """(R,): probability that a rater says the truth of a random item."""
        return np.einsum("j,gjj->g", self.classes, self.confusion)

    @property
    def bias(self) -> Floats:
        """(R,): expected difference of said and true category in ranks."""
        rank = np.arange(self.k)
        step = rank[None, :] - rank[:, None]
        return np.einsum("j,gjl,jl->g", self.classes, self.confusion, step)

    def start(self) -> Start:
        """To begin the next fit with."""
        return Start(self.raters, self.confusion, self.classes)

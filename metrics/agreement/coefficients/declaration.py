"""What is declared of a coefficient: how it is computed, where it makes sense, what is said of it.

Each family's file in coefficients/ declares its own; registry.py lists them all.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metrics.agreement.scales import ScaleType
from metrics.agreement.weights import NONE, weighted

# Reasons that several coefficients share.
NO_PAIRS = "no_pairable_items"
ONE_CATEGORY = "single_category"
OF_TWO = ("needs_two_raters", NO_PAIRS)
OF_COMPLETE_ITEMS = ("needs_two_raters", "needs_complete_items", "too_few_items", "zero_variance")
# What the error of several coefficients is.
IRRCAC = "irrCAC raw formula, t(n - 1)"
ON_CELLS = "delta method on the cells / n, t(n - 1)"
NO_ERROR = "none; bootstrap"


class Values(Enum):
    """What a formula does with the numbers of the categories."""

    UNUSED = "it has no use for them"
    OR_RANKS = "ranks stand for them where there are none"
    GIVEN = "it needs them"
    FROM_ZERO = "it needs them, and none below 0"


@dataclass(frozen=True)
class Formula:
    """A function that makes an estimate of counts, and what it takes beside them.

    `function` takes the counts, then by name: `weights` and `values` as said here, and what all
    formulas of the same counts take (batch.py).
    """

    function: Callable[..., Any]
    weights: bool = False  # it has weighted forms
    values: Values = Values.UNUSED

    def possible(self, values: npt.ArrayLike | None) -> bool:
        """Whether it can be computed with these numbers of the categories, None for none."""
        if self.values is Values.GIVEN:
            return values is not None
        if self.values is Values.FROM_ZERO:
            return values is not None and bool(np.min(values) >= 0)
        return True

    def options(
        self, weights: npt.ArrayLike | None, values: npt.ArrayLike | None
    ) -> dict[str, Any]:
        """What the function takes by name."""
        found: dict[str, Any] = {}
        if self.weights:
            found["weights"] = weights
        if self.values is not Values.UNUSED:
            found["values"] = values
        return found

    def forms(self, base: str, weightings: Collection[str]) -> dict[str, str]:
        """Name -> weighting of its forms under these weightings."""
        chosen = weightings if self.weights else (NONE,)
        return {weighted(base, weighting): weighting for weighting in chosen}


@dataclass(frozen=True)
class Example:
    """A value as printed in a publication or an established program: `value` is what report()
    rounds to."""

    case: str  # file name of the case among the tests' known truth
    name: str
    value: str
    printed: str


Told = Literal["interval", "value", "kappa", "categories", "test", "2x2 test", "icc"]


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """One coefficient; `formula` in the handbook's symbols.

    How it is computed: `of_patterns` (patterns and numbers of items), `of_table` (the table of two
    raters), `of_pairs` (the tables of all pairs), `of_ratings` (RatedItems; report() alone).
    """

    name: str
    # what pages and handbook say: the first two translated, marked by glossary.gettext_noop
    called: str
    says: str
    formula: str
    low: float | None  # None: not bounded
    high: float | None
    undefined: tuple[str, ...]  # reasons that it can have
    error: str  # what the standard error and interval are
    source: str
    example: Example
    # how it is computed
    of_patterns: Formula | None = None
    of_table: Formula | None = None
    of_pairs: Formula | None = None
    of_ratings: Formula | None = None
    # where it makes sense: on every scale, or on those whose categories have an order, or numbers
    ordered: bool = False
    numeric: bool = False
    corrected: bool = True  # for chance: then bands give it a word
    # its names: weighted forms are named after `base`, where that is not its own name
    base: str = ""
    plain: bool = True  # False: it has weighted forms alone
    # how report() tells it (report.py), and whether it tells it of every pair of raters
    told: Told = "interval"
    of_each_pair: bool = False

    @property
    def key(self) -> str:
        """Its name without the number of a test that it is: what its words are found by."""
        return self.name.removesuffix(".chi2")

    @property
    def bootstrapped(self) -> bool:
        """Whether only the bootstrap over items gives it an interval."""
        return self.of_patterns is not None and self.error == NO_ERROR

    @property
    def weighted(self) -> bool:
        """Whether it has weighted forms."""
        formulas = (self.of_patterns, self.of_table, self.of_pairs, self.of_ratings)
        return any(formula is not None and formula.weights for formula in formulas)

    def names(self, weightings: Collection[str]) -> list[str]:
        """Its names in a report: of the plain form and of those under these weightings."""
        return list(self._forms(weightings if self.weighted else ()))

    def forms(self, formula: Formula, weightings: Collection[str]) -> dict[str, str]:
        """Name -> weighting of what the formula makes of it."""
        return self._forms(weightings if formula.weights else ())

    def _forms(self, weightings: Collection[str]) -> dict[str, str]:
        found = {self.name: NONE} if self.plain else {}
        for weighting in weightings:
            if weighting != NONE:
                found[weighted(self.base or self.name, weighting)] = weighting
        return found

    def makes_sense(self, scale: ScaleType) -> bool:
        """Whether its value says something on such a scale."""
        if self.numeric:
            return scale.numeric
        return scale.ordered or not self.ordered

    def computable(self, formula: Formula, scale: ScaleType, values: npt.ArrayLike | None) -> bool:
        """Whether the formula is used on such a scale; an order is enough, for its ranks are
        numbers."""
        needs_order = self.ordered or self.numeric
        return (scale.ordered or not needs_order) and formula.possible(values)

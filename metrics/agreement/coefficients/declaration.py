"""Declaration of a coefficient: its formulas, the scales it is meaningful on, its texts and source.

Each family's module in coefficients/ declares its own; registry.py lists them all.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metrics.agreement.scales import ScaleType
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name

# Reasons for undefined values that several coefficients share.
NO_PAIRABLE_ITEMS = "no_pairable_items"
SINGLE_CATEGORY = "single_category"
TWO_RATER_REASONS = ("needs_two_raters", NO_PAIRABLE_ITEMS)
COMPLETE_ITEM_REASONS = (
    "needs_two_raters",
    "needs_complete_items",
    "too_few_items",
    "zero_variance",
)
# Descriptions of the standard error that several coefficients share.
IRRCAC_ERROR = "irrCAC formula for raw ratings, t(n - 1)"
CELL_DELTA_ERROR = "delta method on the cell proportions, divisor n, t(n - 1)"
NO_ANALYTIC_ERROR = "no analytic standard error; use the bootstrap"


class CategoryValues(Enum):
    """Requirements of a formula for the numeric values of the categories."""

    UNUSED = "not used"
    OPTIONAL = "ranks are used where values are missing"
    REQUIRED = "required"
    REQUIRED_NON_NEGATIVE = "required, and none below 0"


@dataclass(frozen=True)
class Formula:
    """A function that computes an estimate from counts, and the options that it takes.

    `function` takes the counts as positional arguments and, by keyword, weights and values as
    declared here, and the options that all formulas of the same counts take
    (scale_coefficients.py).
    """

    function: Callable[..., Any]
    takes_weights: bool = False  # whether it has weighted forms
    category_values: CategoryValues = CategoryValues.UNUSED

    def is_computable(self, values: npt.ArrayLike | None) -> bool:
        """Return whether these category values (k,), or None, suffice for the formula."""
        if self.category_values is CategoryValues.REQUIRED:
            return values is not None
        if self.category_values is CategoryValues.REQUIRED_NON_NEGATIVE:
            return values is not None and bool(np.min(values) >= 0)
        return True

    def build_options(
        self, weights: npt.ArrayLike | None, values: npt.ArrayLike | None
    ) -> dict[str, Any]:
        """Return the keyword arguments `weights` and `values`, each only if the formula takes it.

        weights (k, k) and values (k,) are passed on as they are, also None.
        """
        options: dict[str, Any] = {}
        if self.takes_weights:
            options["weights"] = weights
        if self.category_values is not CategoryValues.UNUSED:
            options["values"] = values
        return options

    def get_forms(self, base: str, weightings: Collection[str]) -> dict[str, str]:
        """Return coefficient name -> weighting of the formula's forms.

        base: the name without weights. There is one form for each of the weightings if the formula
        takes weights, otherwise the unweighted form only.
        """
        used_weightings = weightings if self.takes_weights else (UNWEIGHTED,)
        return {get_weighted_name(base, weighting): weighting for weighting in used_weightings}


@dataclass(frozen=True)
class Example:
    """A value of a coefficient as printed in a publication or by an established program.

    report() of the reference case gives `value` when rounded to as many digits.
    """

    case: str  # file name of the reference case in tests/metrics/agreement/truth
    name: str
    value: str
    printed_in: str


ReportFormat = Literal["interval", "value", "kappa", "categories", "test", "2x2 test", "icc"]


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """Declaration of a coefficient: formulas, scales on which it is meaningful, texts and source.

    It is computed by one or more of: `pattern_formula` (patterns and numbers of items),
    `table_formula` (the table of two raters), `pair_tables_formula` (the tables of all pairs),
    `ratings_formula` (RatedItems).
    """

    name: str
    # Texts of pages and handbook; the first two are translated, marked by glossary.gettext_noop.
    label: str
    description: str
    formula: str
    low: float | None  # None: unbounded
    high: float | None
    undefined: tuple[str, ...]  # possible reasons for an undefined value
    error: str  # description of the standard error and interval
    source: str
    example: Example
    # Formulas by the kind of counts they take.
    pattern_formula: Formula | None = None
    table_formula: Formula | None = None
    pair_tables_formula: Formula | None = None
    ratings_formula: Formula | None = None
    # Scales it is meaningful on: all, or those whose categories are ordered, or are numbers.
    needs_order: bool = False
    needs_numbers: bool = False
    chance_corrected: bool = (
        True  # interpretation bands apply to chance-corrected coefficients only
    )
    # Weighted forms are named after this base where it differs from the name.
    weighted_base: str = ""
    has_unweighted_form: bool = True  # False: it has weighted forms only
    # The format in report(), and whether report() gives it for every pair of raters.
    report_format: ReportFormat = "interval"
    reported_per_pair: bool = False

    @property
    def key(self) -> str:
        """The key of its texts: the name without the suffix ".chi2" of a test statistic."""
        return self.name.removesuffix(".chi2")

    @property
    def needs_bootstrap(self) -> bool:
        """True if it is computed from patterns and has no analytic standard error."""
        return self.pattern_formula is not None and self.error == NO_ANALYTIC_ERROR

    @property
    def has_weighted_forms(self) -> bool:
        """True if any of its formulas takes weights."""
        formulas = (
            self.pattern_formula,
            self.table_formula,
            self.pair_tables_formula,
            self.ratings_formula,
        )
        return any(formula is not None and formula.takes_weights for formula in formulas)

    def list_names(self, weightings: Collection[str]) -> list[str]:
        """Return the names of the coefficient's forms: unweighted if it has one, then weighted."""
        return list(self._build_forms(weightings if self.has_weighted_forms else ()))

    def get_forms(self, formula: Formula, weightings: Collection[str]) -> dict[str, str]:
        """Return name -> weighting of the coefficient's forms that this formula computes."""
        return self._build_forms(weightings if formula.takes_weights else ())

    def _build_forms(self, weightings: Collection[str]) -> dict[str, str]:
        forms = {self.name: UNWEIGHTED} if self.has_unweighted_form else {}
        for weighting in weightings:
            if weighting != UNWEIGHTED:
                forms[get_weighted_name(self.weighted_base or self.name, weighting)] = weighting
        return forms

    def is_meaningful_on(self, scale: ScaleType) -> bool:
        """Return whether the coefficient is meaningful on a scale of this type."""
        if self.needs_numbers:
            return scale.numeric
        return scale.ordered or not self.needs_order

    def is_computable_on(
        self, formula: Formula, scale: ScaleType, values: npt.ArrayLike | None
    ) -> bool:
        """Return whether the formula can be computed on a scale of this type with these values.

        values (k,): numbers of the categories, or None. For a coefficient of numbers it suffices
        that the categories are ordered: ranks serve as numbers.
        """
        needs_order = self.needs_order or self.needs_numbers
        return (scale.ordered or not needs_order) and formula.is_computable(values)

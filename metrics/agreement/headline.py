"""Which coefficient is read first, and why: one table for pages, API and command line.

It is told in TABLE, which handbook and pages print, and decided by ROWS. `others` of the interval
and ratio rows are two raters too, where no weights are declared. Whoever leads a project may choose
another one (`chosen`).

Of single periods the counts are patterns, which do not know who rated what: where the headline
needs that, `over_time` is the coefficient of patterns that is nearest to it (of two raters Fleiss'
kappa is Scott's pi; of ICC(A,1) it is alpha). It stands in for more than two raters only
(metrics.results.headline.headline_trend).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from .glossary import gettext_noop
from .registry import headlines
from .scales import SCALES, ScaleType, scale_type
from .weights import CUSTOM, NONE, WEIGHTINGS, weighted

COHEN = "cohen_kappa"
FLEISS = "fleiss_kappa"
ICC_AGREEMENT = "icc2"
ICC_CONSISTENCY = "icc3"
ICCS = ICC_AGREEMENT, ICC_CONSISTENCY
CHOSEN = "chosen"


@dataclass(frozen=True)
class Headline:
    """A coefficient's name and why it stands first (the first column of the table).

    `over_time`: its name in a trend; `beside`: what belongs next to it.
    """

    name: str
    why: str
    over_time: str
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What the choice rests on. `weights`: those declared, `none` for none; `complete`: each item
    that somebody rated was rated by all."""

    scale: str
    n_raters: int
    weights: str = NONE
    complete: bool = False

    @property
    def type(self) -> ScaleType:
        return scale_type(self.scale)

    @property
    def weighting(self) -> str:
        """The declared weights; on an ordered scale quadratic unless declared. Weights by rank say
        nothing where categories have no order."""
        if self.type.ordered:
            return self.weights if self.weights != NONE else "quadratic"
        return self.weights if self.weights == CUSTOM else NONE

    @property
    def alpha(self) -> str:
        return f"krippendorff_alpha_{self.type.metric}"


@dataclass(frozen=True)
class Row:
    """One row of the table: when it applies, and what it names."""

    why: str
    applies: Callable[[Facts], bool]
    name: Callable[[Facts], str]
    beside: Callable[[Facts], tuple[str, ...]] = lambda _facts: ()


def _of_two(facts: Facts) -> bool:
    declared = facts.weights != NONE
    return facts.n_raters == 2 and (declared or not facts.type.numeric)


ROWS = (
    Row("two_raters", _of_two, lambda facts: weighted(COHEN, facts.weighting)),
    Row(
        "nominal",
        lambda facts: not facts.type.ordered,
        lambda facts: weighted(FLEISS, facts.weighting),
    ),
    Row(
        "ordinal",
        lambda facts: not facts.type.numeric,
        lambda facts: weighted(FLEISS, facts.weighting),
        lambda facts: (facts.alpha,),
    ),
    Row(
        "complete",
        lambda facts: facts.complete,
        lambda _facts: ICC_AGREEMENT,
        lambda facts: (ICC_CONSISTENCY, facts.alpha),
    ),
    Row("incomplete", lambda _facts: True, lambda facts: facts.alpha),
)


@dataclass(frozen=True)
class Told:
    """A line of the table in words; `why` and `scales` say whose line it is."""

    why: str
    scales: tuple[str, ...]
    raters: str
    complete: str
    coefficient: str


def _scales(*, ordered: bool, numeric: bool) -> tuple[str, ...]:
    wanted = ordered, numeric
    return tuple(name for name, kind in SCALES.items() if (kind.ordered, kind.numeric) == wanted)


_UNORDERED = _scales(ordered=False, numeric=False)
_RANKED = _scales(ordered=True, numeric=False)
_NUMERIC = _scales(ordered=True, numeric=True)
_ANY, _OTHERS = gettext_noop("any"), gettext_noop("others")
_TWO = gettext_noop("two")
TABLE = (
    Told("two_raters", _UNORDERED, _TWO, _ANY,
         gettext_noop("Cohen's kappa; under custom weights where declared")),
    Told("two_raters", _RANKED, _TWO, _ANY,
         gettext_noop("weighted kappa: declared weights, else quadratic")),
    Told("two_raters", _NUMERIC, _TWO, _ANY,
         gettext_noop("weighted kappa, where weights are declared")),
    Told("nominal", _UNORDERED, _OTHERS, _ANY,
         gettext_noop("Fleiss' kappa; under custom weights where declared")),
    Told("ordinal", _RANKED, _OTHERS, _ANY,
         gettext_noop("Fleiss' kappa: declared weights, else quadratic")),
    Told("complete", _NUMERIC, _OTHERS, gettext_noop("yes"),
         gettext_noop("ICC(A,1), ICC(C,1) beside")),
    Told("incomplete", _NUMERIC, _OTHERS, gettext_noop("no"),
         gettext_noop("Krippendorff's alpha of the scale's metric")),
)  # fmt: skip
WHYS = (*dict.fromkeys(row.why for row in ROWS), CHOSEN)


def headline(facts: Facts, *, chosen: str = "") -> Headline:
    """The coefficient to read first; `chosen`: the one that the lead wants instead (`choices`)."""
    row = next(row for row in ROWS if row.applies(facts))
    name = chosen or row.name(facts)
    why = CHOSEN if chosen else row.why
    return Headline(name, why, over_time(name, facts), row.beside(facts))


def over_time(name: str, facts: Facts) -> str:
    """The coefficient of patterns that stands for `name` in a trend: itself, where it is one."""
    if name in ICCS:
        return facts.alpha
    if name.startswith(COHEN):
        return FLEISS + name.removeprefix(COHEN)
    return name


def choices(scale: str, *, values: npt.ArrayLike | None = None, custom: bool = False) -> list[str]:
    """The coefficients that a lead can choose from on such a scale."""
    kind = scale_type(scale)
    found = headlines(scale=scale, values=values, custom=custom)
    for weighting in WEIGHTINGS:
        if weighted(FLEISS, weighting) in found:
            found.append(weighted(COHEN, weighting))
    return [*found, *ICCS] if kind.numeric else found


def weighting_of(name: str) -> str:
    """The weights in a coefficient's name: quadratic of cohen_kappa_quadratic."""
    last = name.rpartition("_")[2]
    return last if last in WEIGHTINGS and name.startswith((COHEN, FLEISS)) else NONE


def in_report(name: str) -> str:
    """The key of report() under which a headline's value stands."""
    suffix = name.removeprefix(COHEN)
    return f"weighted_kappa{suffix}" if name.startswith(COHEN) and suffix else name

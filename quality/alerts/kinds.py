"""The one place where a kind of alarm is declared: what it says, what it promises, where one acts
on it, what its page shows, and what may have come of it. The rules themselves stand in
metrics.agreement (drift, watching) and in overlap.py; gold in doubt is found by quality.gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from quality.models import Alarm, Answer, Kind

from . import links
from .texts import counts, drift, error_rates, level_changes, raters

# What the page of a case shows beside chart, basis and history.
DIFFERING, USE = "differing", "use"
A_RATER, THE_QUESTION = "rater", "question"
RATER = {Answer.REAL: _("It is real: resolved"), Answer.NOT_HIS_FAULT: _("Not this rater’s fault")}
OTHER = {Answer.REAL: _("It is real: resolved"), Answer.EXPLAINED: _("It has another cause")}


@dataclass(frozen=True)
class Declared:
    """sentence: what moved, since when, by how much; brief: the same in few words at the name of a
    rater who is in it, None where none is; basis: more sentences, on what it rests;
    promise: how often it is wrong, at a level of evidence; explanations: what else could be the
    cause; place: address and words of where to act; hint: what an answer does; answers: and how
    each is called; shows: of DIFFERING and USE; chart: what its dots are, None without one.

    about: what moved, A_RATER or THE_QUESTION, or empty where something is only counted: of two
    kinds about the same, one cause rings once. from_start: the rater was never otherwise."""

    sentence: Callable[[Alarm], str]
    basis: Callable[[Alarm], list[str]]
    explanations: Callable[[Alarm], list[str]]
    place: Callable[[Alarm], tuple[str, str]]
    promise: Callable[[Alarm], str]
    answers: Mapping[Answer, Promise]
    hint: Promise
    shows: frozenset[str] = frozenset()
    chart: Promise | None = None
    brief: Callable[[Alarm, int], str] | None = None
    about: str = ""
    from_start: bool = False


_KEPT = _("The case is closed with its numbers. The same cause does not ring again.")

_of_a_rater = partial(
    Declared,
    place=links.rater,
    promise=error_rates.ever,
    answers=RATER,
    hint=_("While a case of a rater is not resolved, no other kind rings for the same rater."),
    shows=frozenset({DIFFERING}),
    chart=_("Dots: one day of this rater, larger for more items. The line is their mean."),
    about=A_RATER,
    from_start=True,
)
_of_what_moved = partial(
    Declared,
    basis=level_changes.basis,
    explanations=level_changes.explanations,
    promise=error_rates.of_question,
    answers=OTHER,
    hint=_KEPT,
    chart=_(
        "Dots: the mean of a week, larger for more items. Lines: the levels before and since. Grey:"
        " when it began, with 95 % probability."
    ),
    about=THE_QUESTION,
)

KINDS: dict[str, Declared] = {
    Kind.RATER_DRIFT: Declared(
        sentence=drift.sentence,
        brief=drift.brief,
        basis=drift.basis,
        explanations=drift.explanations,
        place=links.rater,
        promise=error_rates.of_days,
        answers=RATER,
        hint=_(
            "Real: the new level is this rater’s own from now on, and the ratings since then stay"
            " out of the comparison for others. Not this rater’s fault: they are compared with the"
            " others’ again."
        ),
        shows=frozenset({DIFFERING, USE}),
        chart=_(
            "Dots: this rater’s mean score of a day, larger for more items, with the others’ own"
            " levels taken out. Lines: the levels before and since. Grey: when it began, with 95 %"
            " probability."
        ),
        about=A_RATER,
    ),
    Kind.RATER_SAME: _of_a_rater(
        sentence=raters.same,
        brief=raters.same_brief,
        basis=raters.same_basis,
        explanations=raters.same_explanations,
    ),
    Kind.RATER_FAST: _of_a_rater(
        sentence=raters.fast,
        brief=raters.fast_brief,
        basis=raters.fast_basis,
        explanations=raters.fast_explanations,
    ),
    Kind.RATER_APART: _of_a_rater(
        sentence=raters.apart,
        brief=raters.apart_brief,
        basis=raters.apart_basis,
        explanations=raters.apart_explanations,
    ),
    Kind.QUESTION_FELL: _of_what_moved(sentence=level_changes.question, place=links.question),
    Kind.PAIR_DIVERGED: _of_what_moved(
        sentence=level_changes.pair, brief=level_changes.pair_brief, place=links.pair
    ),
    Kind.CATEGORY_COLLAPSED: _of_what_moved(sentence=level_changes.category, place=links.category),
    Kind.OVERLAP_BEHIND: Declared(
        sentence=counts.overlap,
        basis=counts.overlap_basis,
        explanations=counts.overlap_explanations,
        place=links.overlap,
        promise=error_rates.counted,
        answers=OTHER,
        hint=_KEPT,
    ),
    Kind.GOLD_SUSPECTED: Declared(
        sentence=counts.gold,
        basis=counts.gold_basis,
        explanations=counts.gold_explanations,
        place=links.gold,
        promise=error_rates.of_gold,
        answers=OTHER,
        hint=_("A gold answer in doubt is in no score until it is kept or retired."),
    ),
}


def briefly(case: Alarm, rater: int) -> str:
    """What a case says, at the name of one of its raters."""
    declared = KINDS[case.kind]
    return declared.brief(case, rater) if declared.brief else declared.sentence(case)

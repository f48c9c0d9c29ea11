"""Agreement of a question over all time: the one result that pages, API and files show.

It is stored in parts, because the intervals are computed after the values. For all ratings, the
parts are columns of Result and CountState; for the ratings of a filter, the body of a
FilteredResult (metrics.filtered). Both become a `QuestionAgreement` in the same way.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from metrics.agreement.estimate import Value
from metrics.agreement.headline import get_unweighted_name
from metrics.models import CountState, PeriodUnit, Result
from metrics.results.intervals import Intervals, QuestionClusters, add_intervals
from projects.models import Question

from .stored_values import HeadlineResult, ResultDetails, Values

# The columns that an agreement is stored in, and what its clusters depend on.
COLUMNS = (
    "coefficients",
    "headline",
    "details",
    "question",
    *(
        f"question__count_state__{name}"
        for name in (
            "bootstrap",
            "bootstrap_people",
            "mean_pairwise_kappas",
            "cluster_effects",
            "counted_at",
        )
    ),
    "question__project__cluster_attribute",
)


@dataclass(frozen=True)
class QuestionAgreement:
    """The coefficients of a question, its headline and details, with their intervals.

    ``coefficients``: of all raters; ``pairwise_means``: the mean pairwise kappas by shared items
    (results.pair_results); ``clusters``: the clusters of items for which the intervals are widened,
    None without any; ``counted_at``: when the ratings were counted, None for those of a filter.
    """

    coefficients: Values
    headline: HeadlineResult
    details: ResultDetails
    pairwise_means: Values
    clusters: QuestionClusters | None = None
    counted_at: datetime.datetime | None = None

    @property
    def population_coefficients(self) -> Values:
        """Coefficients of all ratings of the headline's population.

        The population is all raters; where models are separate, people, unless the lead pooled
        them.
        """
        return self.headline["coefficients"] if self.is_of_people_only else self.coefficients

    @property
    def displayed_coefficients(self) -> Values:
        """Coefficients to display: of the random sample, or else `population_coefficients`.

        There is a random sample where some items were selected because of what others had rated.
        """
        sample = self.headline.get("sample")
        return sample["coefficients"] if sample else self.population_coefficients

    def get_unweighted(self, name: str) -> tuple[str, Value] | None:
        """Return name and Value of a weighted coefficient without its weights.

        None if it has no weights, if they change nothing, or if the unweighted value is not stored.
        """
        unweighted_name = get_unweighted_name(name)
        if unweighted_name == name or "unweighted" not in self.headline:
            return None
        if name == self.headline["name"]:
            return unweighted_name, self.headline["unweighted"]
        value = self.displayed_coefficients.get(unweighted_name)
        return (unweighted_name, value) if value else None

    @property
    def is_of_people_only(self) -> bool:
        """True if models rate, too, and their ratings are left out of the coefficients."""
        return "coefficients" in self.headline and self.headline["population"] == "people"


@dataclass(frozen=True)
class AgreementParts:
    """The parts of a QuestionAgreement as they are stored.

    Their intervals treat items as independent; ``join`` widens them for clusters.

    ``bootstrap``, ``bootstrap_people``: intervals of the coefficients without a standard error, for
    all raters and for people.
    """

    coefficients: Values
    headline: HeadlineResult
    details: ResultDetails
    bootstrap: Intervals
    bootstrap_people: Intervals
    pairwise_means: Values

    @classmethod
    def from_rows(cls, result: Result, state: CountState) -> Self:
        """Return the stored parts of the result of all time."""
        return cls(
            result.coefficients,
            result.headline,
            result.details,
            state.bootstrap,
            state.bootstrap_people,
            state.mean_pairwise_kappas,
        )

    def join(self, clusters: QuestionClusters | None) -> QuestionAgreement:
        """Return the agreement, with intervals widened for clusters unless ``clusters`` is None."""
        headline = self._build_headline()
        agreement = QuestionAgreement(
            add_intervals(self.coefficients, self.bootstrap),
            headline,
            self.details,
            # The means are of all ratings.
            {} if "sample" in headline else self.pairwise_means,
        )
        if clusters is None:
            return agreement
        return QuestionAgreement(
            clusters.widen_all(agreement.coefficients),
            clusters.widen_headline(agreement.headline),
            clusters.widen_details(agreement.details),
            clusters.widen_all(agreement.pairwise_means),
            clusters,
        )

    def _build_headline(self) -> HeadlineResult:
        """Return the headline with its bootstrap interval, where it has no other."""
        headline = self.headline.copy()
        if "coefficients" in headline:
            headline["coefficients"] = add_intervals(
                headline["coefficients"], self.bootstrap_people
            )
        if not headline or "sample" in headline or headline["value"].get("low") is not None:
            return headline
        is_of_people_only = headline["population"] == "people" and "coefficients" in headline
        intervals = self.bootstrap_people if is_of_people_only else self.bootstrap
        name, value = headline["name"], headline["value"]
        headline["value"] = add_intervals({name: value}, intervals)[name]
        if is_of_people_only:
            headline["people"] = headline["value"]
        return headline


def load_question_agreement(question: Question) -> QuestionAgreement | None:
    """Return the stored agreement of all ratings of a question, or None before there is any."""
    return load_agreements([question]).get(question.pk)


def load_agreements(questions: Sequence[Question]) -> dict[int, QuestionAgreement]:
    """Return {question id: its stored agreement}, without questions that have none; one query."""
    rows = Result.objects.filter(question__in=questions, period_unit=PeriodUnit.ALL)
    rows = rows.select_related("question__count_state", "question__project").only(*COLUMNS)
    agreements = {}
    for row in rows:
        state = row.question.count_state
        clusters = QuestionClusters.from_state(state, row.question.project)
        agreement = AgreementParts.from_rows(row, state).join(clusters)
        agreements[row.question_id] = replace(agreement, counted_at=state.counted_at)
    return agreements

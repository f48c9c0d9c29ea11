"""Rows of questions with their headlines: of one project, or of the projects in a list.

The rows are read from stored results, in a fixed number of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString

from core.hooks import Hook
from metrics.agreement.explain import bands
from metrics.results.findings import Findings, is_band_withheld
from metrics.results.question_agreement import QuestionAgreement, load_agreements
from metrics.results.stored_values import Value
from projects.models import Project, Question

from .insights import (
    CategoryConfusion,
    build_confusions,
    build_outlier_sentences,
    get_outlier_raters_by_question,
    get_stored_findings,
)
from .trends import recent_weeks


class InboxLink(Protocol):
    """Link to a task in the inbox: text and URL."""

    @property
    def text(self) -> str: ...

    @property
    def url(self) -> str: ...


# Functions that return {question id: inbox entries} for the user's role (``project.role``) in a
# project. Packages above register theirs at startup.
INBOX_SOURCES: Hook[Callable[[Any, Sequence[Question]], Mapping[int, Sequence[InboxLink]]]] = Hook(
    "inbox_of_questions"
)


@dataclass
class QuestionRow:
    """A question with its headline, its trend and what needs attention."""

    project: Project
    question: Question
    agreement: QuestionAgreement | None
    n_ratings: int = 0
    weekly_trend: recent_weeks.RecentWeeks | None = None
    top_confusion: CategoryConfusion | None = None
    attention: list[SafeString] = field(default_factory=list)
    inbox_entries: list[InboxLink] = field(default_factory=list)
    is_band_withheld: bool = False  # the findings forbid naming a band for the value

    @property
    def headline(self) -> Value | None:
        """Return the estimate of the headline; None before there is one."""
        return self.agreement.headline.get("value") if self.agreement else None

    @property
    def unweighted(self) -> Value | None:
        """Return the estimate of the headline without weights; None if they have no effect."""
        named = self.agreement.get_unweighted(self.name) if self.agreement else None
        return named[1] if named else None

    @property
    def is_random_sample(self) -> bool:
        """Return whether the headline is based on the random sample only."""
        return self.agreement is not None and "sample" in self.agreement.headline

    @property
    def name(self) -> str:
        """Return the name of the headline coefficient; empty if there is none."""
        return self.agreement.headline.get("name", "") if self.agreement else ""

    @property
    def n_complete_items(self) -> int:
        """Return the number of items with at least the project's overlap of ratings."""
        numbers = self.agreement.details.get("by_ratings", {}) if self.agreement else {}
        return count_items_with(self.project.overlap, numbers)

    @property
    def has_band_mismatch(self) -> bool:
        """Return whether the project's band scheme was made for another coefficient."""
        has_bands = bool(self.name) and self.name != "percent_agreement"
        return has_bands and not bands.is_designed_for(self.name, self.project.band_scheme)

    @property
    def url(self) -> str:
        """Return the URL of the question's dashboard."""
        query = urlencode({"question": self.question.key})
        return f"{reverse('dashboard', args=[self.project.pk])}?{query}"


def count_items_with(n_ratings: int, by_ratings: Mapping[str, int]) -> int:
    """Return the number of items with at least ``n_ratings`` ratings.

    ``by_ratings``: {number of ratings: number of items}.
    """
    return sum(items for number, items in by_ratings.items() if int(number) >= n_ratings)


def build_project_rows(
    project: Any, questions: Sequence[Question], rating_counts: Mapping[int, int]
) -> list[QuestionRow]:
    """Return the rows of all questions of a project.

    ``questions``: with their categories; ``rating_counts``: {question id: number of counted
    ratings}.
    """
    agreements = load_agreements(questions)
    findings = get_stored_findings(question.pk for question in questions)
    weekly_trends = recent_weeks.get_recent_weeks(agreements)
    outliers = get_outlier_raters_by_question(findings)
    confusions = _get_top_confusions(questions, findings)
    inboxes = INBOX_SOURCES.call(project, questions)
    return [
        QuestionRow(
            project,
            question,
            agreements.get(question.pk),
            rating_counts.get(question.pk, 0),
            weekly_trends.get(question.pk),
            confusions.get(question.pk),
            build_outlier_sentences(
                outliers.get(question.pk, []), project.pk, urlencode({"question": question.key})
            ),
            [entry for inbox in inboxes for entry in inbox.get(question.pk, ())],
            is_band_withheld(findings.get(question.pk, [])),
        )
        for question in questions
    ]


def _get_top_confusions(
    questions: Sequence[Question], findings: Mapping[int, Findings]
) -> dict[int, CategoryConfusion]:
    """Return {question id: the two categories confused most, relative to their frequencies}."""
    confusions = {}
    for question in questions:
        for finding in findings.get(question.pk, []):
            figures = finding["figures"]
            if finding["name"] == "confused_categories" and "differing_pairs" in figures:
                pair = figures["category_a"], figures["category_b"], figures["share"]
                for confusion in build_confusions(question, [pair]):
                    confusions[question.pk] = replace(
                        confusion, n_comparisons=figures["differing_pairs"]
                    )
    return confusions

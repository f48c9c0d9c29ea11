"""Freshness of a results page, and the protocol by which open pages refresh themselves.

Freshness is the progress of counting, and the version that is shown. While it is visible, a page
requests its own URL every few seconds (templates/metrics/common/_freshness.html). It sends the
version that it shows (``X-Shown-Version``) and a key of the fragments that it has
(``X-Fragments``). The response is

* empty (204): the page is up to date;
* the freshness only: there are ratings that are not counted yet;
* the page: its fragments replace those shown, and the charts are redrawn;
* ``HX-Refresh``: the page has other fragments now and is reloaded.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from metrics.counting import backlog
from metrics.filters import RatingFilter
from metrics.jobs import question_updates
from metrics.models import CountState, FilteredResult
from projects.models import Project, Question


@dataclass(frozen=True)
class Freshness:
    """The question's CountState and number of uncounted ratings: how current a page is."""

    state: CountState | None
    uncounted: int

    @classmethod
    def for_question(cls, question: Question) -> Freshness:
        """Return how current the stored results of a question are."""
        state = CountState.objects.filter(question=question).first()
        return cls(state, question_updates.count_pending_ratings(question, state))

    @property
    def has_filter(self) -> bool:
        """Return whether the page shows a filtered result, whose age is its own."""
        return False

    @property
    def is_awaiting_result(self) -> bool:
        """Return whether the first filtered result is not computed yet; never without a filter."""
        return False

    @property
    def has_stale_parts(self) -> bool:
        """Return whether the deferred results are still based on older counts.

        They are the findings, mean pairwise kappas, bootstrap intervals and the headline of
        the random sample (metrics.results.refresh). False with a filter.
        """
        state = self.state
        if state is None or self.has_filter:
            return False
        return state.deferred_version != state.version or state.sample_is_stale

    @property
    def is_counting(self) -> bool:
        """Return whether a worker still counts a backlog, or computes the first results.

        Until then, nothing can be derived from the results. False with a filter.
        """
        state = self.state
        if self.has_filter:
            return False
        if state is None or not state.deferred_version:
            return bool(self.uncounted or (state and state.ratings))
        return self.backlog_progress is not None

    @property
    def version(self) -> str:
        """Return the version of the counts, a dot, and the number of ratings not in the results."""
        return f"{self.state.version if self.state else 0}.{self.uncounted}"

    @property
    def backlog_progress(self) -> dict[str, int] | None:
        """Return the ratings of the backlog that are counted ("done", "total"); None without it."""
        return backlog.get_progress(self.state) if self.state else None


class CountSummary(NamedTuple):
    """Time of the last count, and number of counted ratings."""

    counted_at: datetime.datetime | None
    ratings: int


@dataclass(frozen=True)
class MultiQuestionFreshness:
    """Freshness of the results of several questions, with the interface of `Freshness`."""

    states: Mapping[int, CountState]
    uncounted: int
    has_filter = is_awaiting_result = False

    @classmethod
    def for_questions(cls, questions: Sequence[Question]) -> MultiQuestionFreshness:
        """Return how current the stored results of several questions are."""
        states = CountState.objects.in_bulk([question.pk for question in questions])
        return cls(states, question_updates.count_pending_ratings_of_questions(questions, states))

    @property
    def state(self) -> CountSummary:
        times = [state.counted_at for state in self.states.values() if state.counted_at]
        ratings = sum(state.ratings for state in self.states.values())
        return CountSummary(max(times, default=None), ratings)

    @property
    def has_stale_parts(self) -> bool:
        return any(
            state.deferred_version != state.version or state.sample_is_stale
            for state in self.states.values()
        )

    @property
    def version(self) -> str:
        """Return the number of questions, the sum of versions, a dot, and the missing changes.

        Each version only rises, and so does their sum.
        """
        versions = [state.version for state in self.states.values()]
        return f"{len(versions)}-{sum(versions)}.{self.uncounted}"

    @property
    def backlog_progress(self) -> dict[str, int] | None:
        """Return the sums of the progress of the backlogs, or None without any."""
        progress_or_none = [backlog.get_progress(state) for state in self.states.values()]
        open_backlogs = [progress for progress in progress_or_none if progress is not None]
        if not open_backlogs:
            return None
        return {
            name: sum(progress[name] for progress in open_backlogs) for name in ("done", "total")
        }


@dataclass(frozen=True)
class FilteredFreshness(Freshness):
    """Freshness of a page that shows a FilteredResult (``row``).

    On a page of all ratings, only some of its results come from the row.
    """

    row: FilteredResult

    @property
    def is_awaiting_result(self) -> bool:
        return self.has_filter and self.row.computed_at is None

    @property
    def has_filter(self) -> bool:
        return bool(RatingFilter.from_spec(self.row.spec))

    @property
    def version(self) -> str:
        computed = self.row.computed_at
        computed_us = int(computed.timestamp() * 1_000_000) if computed else 0
        counts = self.state.version if self.state and not self.has_filter else 0
        return f"{self.row.pk}-{computed_us}-{counts}.{self.uncounted}-{self.n_outdated}"

    @property
    def n_outdated(self) -> int:
        """Return 1 if counts or items changed since the filtered result was computed, else 0."""
        current = self.state.version if self.state else 0
        items_and_raters_version = self.row.question.project.items_and_raters_version
        return int(
            (self.row.version, self.row.items_and_raters_version)
            != (current, items_and_raters_version)
        )


@dataclass(frozen=True)
class LiveSettings:
    """Polling interval and fragments of a live page.

    ``seconds``: the interval; ``fragments``: ids of the elements to replace, if the page has them;
    ``summary``: the number of ratings is shown too, and whether all are counted.
    """

    seconds: int
    fragments: tuple[str, ...]
    summary: bool = False

    @property
    def fragment_selector(self) -> str:
        """Return the CSS selector of the fragments and the freshness, for htmx."""
        return ",".join(f"#{name}" for name in ("as-of", *self.fragments))


def is_live_request(request: HttpRequest) -> bool:
    """Return True if the request is a poll by an open page, False if it opens the page."""
    return "X-Shown-Version" in request.headers


def is_part_request(request: HttpRequest) -> bool:
    """Return True if the request is a poll by a part of a page that waits for a worker."""
    return request.headers.get("X-Shown-Version") == "pending"


def build_pending_response(*, pending: bool) -> HttpResponse:
    """Return the response to a poll by a page that waits for a worker.

    Status 204 while the result is ``pending``, then a header that reloads the page.
    """
    return HttpResponse(status=204) if pending else HttpResponse(headers={"HX-Refresh": "true"})


def get_unchanged_response(
    request: HttpRequest,
    project: Project,
    freshness: Freshness | MultiQuestionFreshness,
    settings: LiveSettings,
) -> HttpResponse | None:
    """Return the response to a poll if the page needs no new results, else None.

    It is empty (204) if nothing changed, or the freshness alone if only the number of uncounted
    ratings did. None also for a request that is no poll.
    """
    if not is_live_request(request):
        return None
    shown_version = request.headers.get("X-Shown-Version", "")
    if shown_version == freshness.version:
        return HttpResponse(status=204)
    if shown_version.partition(".")[0] != freshness.version.partition(".")[0]:
        return None
    fragment_key = request.headers.get("X-Fragments", "")
    context = {
        "project": project,
        "fresh": freshness,
        "live": settings,
        "fragment_key": fragment_key,
    }
    return render(request, "metrics/common/_freshness.html", context)


def render_live_page(
    request: HttpRequest, template: str, context: dict[str, object]
) -> HttpResponse:
    """Render the page, also for a poll, which replaces the page's fragments.

    The context needs ``fragment_key``: a poll with another key is told to reload the page.
    """
    fragment_key = request.headers.get("X-Fragments")
    if fragment_key is not None and fragment_key != context["fragment_key"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = render(request, template, context)
    if fragment_key is not None:
        response["HX-Trigger"] = "charts-changed"
    return response

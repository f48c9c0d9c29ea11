"""List of a question's raters: filters, sort order and the values to sort by.

It reads one row for all raters (quality.rater_status.comparison) and the ids of those with alerts
or other flags. Whole summaries are read for one page only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from core.text import parse_id
from metrics.filters import build_invalid_value_error
from metrics.results.stored_values import build_uncounted_value
from metrics.views.common.selection import get_choice
from projects.models import Question, Rater
from projects.selectors import MAX_SELECTED, build_selection_error
from quality.models import AlertKind, DriftState, GoldScore, RaterCheck, RepeatScore
from quality.rater_status import comparison, recomputation
from quality.rater_status.reasons import (
    NO_ALERTS,
    FailedExam,
    RaterAlerts,
    RaterStatus,
    ReasonCode,
    StatusNote,
    StatusReason,
    find_note,
    get_status,
    list_reasons,
)
from quality.rater_status.status import (
    build_rank,
    get_alerts_by_rater,
    get_failed_exams_by_rater,
    load_repeat_scores,
)
from quality.repeats import find_inconsistent_scores

MAX_SEARCH_LENGTH = 100
MAX_MIN_RATINGS = 1_000_000
# Flag -> text of its filter chip, in the order of the page.
FLAGS: dict[str, Promise] = {
    "same_answer": gettext_lazy("Repeated answer"),
    "too_fast": gettext_lazy("Too fast"),
    "low_agreement": gettext_lazy("Low agreement"),
    "copies": gettext_lazy("Agrees too often"),
    "newcomer": gettext_lazy("New, low agreement"),
    "reversed": gettext_lazy("Opposite answers"),
    "harsh": pgettext_lazy("raters", "Harsh"),
    "lenient": pgettext_lazy("raters", "Lenient"),
    "higher": gettext_lazy("Higher"),
    "lower": gettext_lazy("Lower"),
    "self": gettext_lazy("Inconsistent"),
    "exam": gettext_lazy("Exam not passed"),
    "drift": gettext_lazy("Drift"),
    "alert": gettext_lazy("Alert"),
    "gold": gettext_lazy("Below pass mark"),
    "not_enough": gettext_lazy("Not enough data"),
    "paused": gettext_lazy("Paused"),
    "checked": gettext_lazy("Checked"),
}


class RaterListEntry(NamedTuple):
    """A rater of the list, with the values to filter and sort by.

    ``result`` is None for a rater without ratings.
    """

    pk: int
    key: str
    name: str
    group: str
    result: comparison.ComparedRater | None
    status: RaterStatus
    impact: float | None
    flags: set[str]  # keys of FLAGS
    reasons: list[StatusReason]  # the most severe first
    note: StatusNote | None

    @property
    def needs_action(self) -> bool:
        """Return whether the status asks for an action of a lead.

        Not of a paused rater, and not if a lead has recently checked a rater with the status check.
        """
        if "paused" in self.flags:
            return False
        is_unchecked = self.status == RaterStatus.CHECK and "checked" not in self.flags
        return self.status == RaterStatus.ACT or is_unchecked


@dataclass(frozen=True)
class RaterFilter:
    """Filter of the rater list from the query: a flag, a minimum of ratings, a search text."""

    flag: str = ""
    min_ratings: int = 0
    search: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> RaterFilter:
        """Return the filter of the query.

        Raises Http404 for an unknown flag and BadRequest for invalid values.
        """
        flag = get_choice(query, "show", list(FLAGS)) or ""
        text = query.get("min_ratings") or "0"
        if not (text.isascii() and text.isdigit() and int(text[:8]) <= MAX_MIN_RATINGS):
            raise build_invalid_value_error("min_ratings", text, [f"0–{MAX_MIN_RATINGS}"])
        search = (query.get("search") or "").strip()
        if len(search) > MAX_SEARCH_LENGTH:
            raise BadRequest(_("Use a shorter search."))
        return cls(flag, int(text), search)

    def matches(self, rater: RaterListEntry) -> bool:
        """Return whether the rater passes the filter."""
        if self.flag and self.flag not in rater.flags:
            return False
        if self.min_ratings and (rater.result is None or rater.result.n_ratings < self.min_ratings):
            return False
        text = self.search.casefold()
        return not text or any(
            text in field_value.casefold() for field_value in (rater.key, rater.name, rater.group)
        )


def _get_result_field(name: str) -> Callable[[RaterList, RaterListEntry], Any]:
    """Return a function that reads this field of a rater's result, None without a result."""
    return lambda _rater_list, rater: getattr(rater.result, name) if rater.result else None


NO_VALUE: tuple[float | None, int] = (None, 0)
# Column -> sort key. Raters without a value come last, before them those with too few items.
SORT_KEYS: dict[str, Callable[[RaterList, RaterListEntry], Any]] = {
    # Better raters have the larger rank: "-status" begins with the worst.
    "status": lambda _all, line: tuple(-part for part in build_rank(line.status, line.impact)),
    "impact": lambda _all, line: line.impact,
    "rater": lambda _all, line: line.key,
    "ratings": _get_result_field("n_ratings"),
    "peers": _get_result_field("value"),
    "bias": _get_result_field("bias"),
    "seconds": _get_result_field("seconds"),
    "gold": lambda every, line: every.gold_values.get(line.pk, NO_VALUE)[0],
    "repeats": lambda every, line: every.repeat_values.get(line.pk, NO_VALUE)[0],
}
# Column -> number of items behind the value, for columns that compare raters.
ITEM_COUNTS: dict[str, Callable[[RaterList, RaterListEntry], int]] = {
    "peers": lambda _all, line: line.result.n_items if line.result else 0,
    "bias": lambda _all, line: line.result.n_items if line.result else 0,
    "gold": lambda every, line: every.gold_values.get(line.pk, NO_VALUE)[1],
    "repeats": lambda every, line: every.repeat_values.get(line.pk, NO_VALUE)[1],
}


@dataclass
class RaterList:
    """All people of a question's project, with the latest comparison of its raters."""

    question: Question
    comparison: comparison.RaterComparison = field(init=False)

    def __post_init__(self) -> None:
        self.comparison = comparison.get_comparison(self.question)

    @property
    def is_pending(self) -> bool:
        """Return whether the first comparison of the raters has still to be computed.

        False if no rating has been counted, or the project has no people who rate.
        """
        is_computed = self.comparison.computed_at is not None
        input_version = recomputation.get_input_versions(self.question.pk)
        return not is_computed and bool(input_version) and bool(self.raters)

    @cached_property
    def raters(self) -> list[RaterListEntry]:
        """Return all people who rate, with status and flags, unordered; models are left out."""
        people = Rater.objects.filter(project=self.question.project_id, kind=Rater.Kind.HUMAN)
        alerts = get_alerts_by_rater(self.question)
        drift_states = DriftState.objects.filter(question=self.question, watched=True)
        drift_of = {row.rater_id: row for row in drift_states}
        gold_scores = GoldScore.objects.below_pass_mark().filter(question=self.question)
        gold_of = {row.rater_id: row for row in gold_scores}
        repeats_of = find_inconsistent_scores([*load_repeat_scores(self.question).values()])
        failed_exams = get_failed_exams_by_rater(self.question)
        checks = RaterCheck.objects.recent().filter(question=self.question)
        checked = set(checks.values_list("rater_id", flat=True))
        listed = []
        for rater in people.order_by().only("key", "name", "group", "paused"):
            pk = rater.pk
            listed.append(
                build_entry(
                    rater,
                    self.comparison,
                    drift=drift_of.get(pk),
                    gold=gold_of.get(pk),
                    repeats=repeats_of.get(pk),
                    failed_exam=failed_exams.get(pk),
                    alerts=alerts.get(pk, NO_ALERTS),
                    is_checked=pk in checked,
                )
            )
        return listed

    def list_filter_chips(self) -> list[tuple[str, Promise, int]]:
        """Return (flag, text, number of raters that have it) of each flag."""
        return [
            (flag, text, sum(flag in rater.flags for rater in self.raters))
            for flag, text in FLAGS.items()
        ]

    def select(self, rater_filter: RaterFilter, sort: str = "-status") -> list[RaterListEntry]:
        """Return the raters that match, sorted by one column ("-" before it: descending), then key.

        In either order, raters without a value come last, preceded by those with too few items:
        with five items, a rater may be the best or worst by chance.
        """
        column = sort.removeprefix("-")
        get_value, count_items = SORT_KEYS[column], ITEM_COUNTS.get(column)
        raters = sorted(filter(rater_filter.matches, self.raters), key=lambda rater: rater.key)
        values = {rater.pk: get_value(self, rater) for rater in raters}
        with_value = [rater for rater in raters if values[rater.pk] is not None]
        with_value.sort(key=lambda rater: values[rater.pk], reverse=sort.startswith("-"))
        if count_items is not None:
            with_value.sort(key=lambda rater: count_items(self, rater) < comparison.MIN_ITEMS)
        return with_value + [rater for rater in raters if values[rater.pk] is None]

    @cached_property
    def gold_values(self) -> dict[int, tuple[float | None, int]]:
        """Return {rater id: (kappa with gold answers, number of items)}.

        Kappa is None where it is undefined.
        """
        return _get_kappas(GoldScore.objects.filter(question=self.question))

    @cached_property
    def repeat_values(self) -> dict[int, tuple[float | None, int]]:
        """Return {rater id: (kappa with the rater's own repeated answers, number of items)}.

        Kappa is None where it is undefined.
        """
        return _get_kappas(RepeatScore.objects.filter(question=self.question))


def build_entry(
    rater: Rater,
    rater_comparison: comparison.RaterComparison,
    *,
    drift: DriftState | None,
    gold: GoldScore | None,
    repeats: RepeatScore | None,
    failed_exam: FailedExam | None,
    alerts: RaterAlerts,
    is_checked: bool,
) -> RaterListEntry:
    """Return the entry of a rater, whose reasons follow from the keyword arguments.

    ``is_checked``: whether a lead has checked the rater recently.
    """
    result = rater_comparison.raters.get(rater.pk)
    reasons = list_reasons(
        rater.pk,
        rater_comparison,
        _get_peers(result),
        drift=drift,
        gold=gold,
        repeats=repeats,
        failed_exam=failed_exam,
        alerts=alerts,
    )
    is_outlying = rater.pk in rater_comparison.outlying
    flags = _list_flags(reasons, rater, is_outlying=is_outlying, is_checked=is_checked)
    return RaterListEntry(
        rater.pk,
        rater.key,
        rater.name,
        rater.group,
        result,
        get_status(reasons),
        rater_comparison.get_impact(rater.pk),
        flags,
        reasons,
        find_note(rater.pk, rater_comparison, reasons, alerts),
    )


def _list_flags(
    reasons: Sequence[StatusReason], rater: Rater, *, is_outlying: bool, is_checked: bool
) -> set[str]:
    """Return the flags by which the list shows the rater."""
    flags = {reason.code.value for reason in reasons if _has_flag(reason)}
    if is_outlying:
        # Also where another reason comes first: the insights count the same raters.
        flags.add(ReasonCode.LOW_AGREEMENT.value)
    if rater.paused:
        flags.add("paused")
    if is_checked:
        flags.add("checked")
    if any(reason.alert for reason in reasons):
        flags.add("alert")
    return flags


def _has_flag(reason: StatusReason) -> bool:
    """Return whether the list can be filtered by the reason.

    True for reasons without an alert, for alerts of kind RATER_DRIFT, and for other alerts that
    current ratings support, except drift of a pair, which has the flag "alert" alone.
    """
    if reason.alert is None:
        return True
    if reason.code == ReasonCode.DRIFT:
        return reason.alert.kind == AlertKind.RATER_DRIFT
    return reason.alert.supported


def _get_kappas(rows: QuerySet[Any]) -> dict[int, tuple[float | None, int]]:
    """Return {rater id: (kappa, number of items)}."""
    values = rows.values_list("rater_id", "kappa")
    return {rater: (kappa["value"], kappa["n_items"] or 0) for rater, kappa in values}


def parse_rater_ids(texts: Sequence[str]) -> list[int]:
    """Return the rater ids of a form or a query; raises BadRequest for invalid ones."""
    rater_ids = [rater_id for text in texts if (rater_id := parse_id(text)) is not None]
    if len(texts) > MAX_SELECTED or len(rater_ids) < len(texts):
        raise build_selection_error()
    return rater_ids


def _get_peers(result: comparison.ComparedRater | None) -> Mapping[str, Any]:
    """Return the value and number of items of the rater's kappa with the others.

    Undefined if the rater has no result.
    """
    if result is None:
        return build_uncounted_value()
    return {"value": result.value, "n_items": result.n_items}

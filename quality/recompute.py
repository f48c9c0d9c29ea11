"""What is made of all of a question's ratings, and made anew when what it rests on has changed:
labels, scores on gold, alarms.

Always from all ratings and from the same start, so that a result is a function of the ratings
alone, in whatever order they came. A *stamp* says in a few numbers what a result rests on. Other
than that of now: the result is old. A question that was made just now rests in proportion to the
time that this took.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Count, Manager, Max, OuterRef, Subquery
from django.utils import timezone

from core.jobs.lease import Lost, free, give_back, take_lease
from metrics.models import CountState
from projects.models import GoldAnswer, Question
from quality.models import Renewed
from ratings.models import Apart

logger = logging.getLogger(__name__)

Made = TypeVar("Made", bound=Renewed)
Stamps = dict[int, dict[str, Any]]  # by question


@dataclass(frozen=True)
class Renewing:
    """One kind of result. ``make`` makes that of a row which this worker has in hand; it may raise
    Lost. ``waiting`` names the questions that wait, in their order."""

    what: str  # for the log
    rows: type[Renewed]
    make: Callable[[Any], None]
    waiting: Callable[[], list[int]]
    rest: float  # times as long as making took
    longest_rest: datetime.timedelta
    lease: datetime.timedelta  # nothing takes longer; then the worker counts as gone

    def sweep(self) -> int:
        """Make those of all questions that wait for it; how many were made. A failure of one keeps
        no other waiting."""
        made = 0
        for question_id in self.waiting():
            try:
                made += self.renew(question_id)
            except Exception:
                logger.exception(
                    "%s of question %s failed; the next sweep tries again", self.what, question_id
                )
        return made

    def renew(self, question_id: int, *, at_once: bool = False) -> bool:
        """Make that of a question; False where another worker does, or where it rests still."""
        rows: Manager[Any] = self.rows._default_manager
        row, _new = rows.get_or_create(question_id=question_id)
        if not at_once and self.resting(row):
            return False
        until = timezone.now() + self.lease
        if take_lease(rows.filter(free(), pk=question_id), leased_until=until) is None:
            return False
        row.refresh_from_db()
        try:
            self.make(row)
        except Lost:
            logger.info("%s of question %s are in other hands now", self.what, question_id)
            return False
        finally:
            give_back(row)
        return True

    def resting(self, row: Renewed) -> bool:
        """Whether it was made so recently that it may wait for more changes."""
        if row.made_at is None:
            return False
        rest = min(self.longest_rest, datetime.timedelta(seconds=self.rest * row.seconds))
        return timezone.now() < row.made_at + rest


def behind(rows: type[Renewed], stamps: Mapping[int, dict[str, Any]]) -> list[int]:
    """Ids of the questions whose rows rest on other stamps than these, or do not exist, the longest
    untouched first."""
    made = {row.pk: row for row in rows._default_manager.only("rests_on", "made_at")}
    found = []
    for question_id, stamp in stamps.items():
        row = made.get(question_id)
        if row is None or row.rests_on != stamp:
            since = row.made_at.timestamp() if row is not None and row.made_at else 0.0
            found.append((since, question_id))
    return [question_id for _since, question_id in sorted(found)]


def counted(only: int | None = None, **more: str) -> Stamps:
    """Of all questions that were ever counted, or of one: the time of counting, which tells of
    ratings, the version of the scale, and that of the catalogue, which tells of raters' kinds and
    of items. ``more``: name -> column of the question."""
    columns = {
        "counted_at": "counted_at",
        "scale": "question__scale_version",
        "catalogue": "question__project__catalogue_version",
    }
    columns |= {name: f"question__{column}" for name, column in more.items()}
    states = CountState.objects.filter(**of(only))
    found = {}
    for question_id, *values in states.values_list("question_id", *columns.values()):
        stamp = dict(zip(columns, values, strict=True))
        moment = stamp["counted_at"]
        stamp["counted_at"] = moment.isoformat() if moment else None
        found[question_id] = stamp
    return found


def gold(only: int | None = None) -> dict[int, list[int]]:
    """question id -> the newest gold answer, and how many are retired; of those that ever had
    any."""
    rows = GoldAnswer.objects.filter(**of(only)).values_list("question_id").order_by()
    found = {}
    for question_id, newest, retired in rows.annotate(Max("pk"), Count("retired_at")):
        found[question_id] = [newest, retired]
    return found


def apart(question_ids: Iterable[int], why: str) -> dict[int, int]:
    """question id -> the newest line of what raters said apart for this reason; of those where
    there is any."""
    lines = Apart.objects.filter(question=OuterRef("pk"), why=why).order_by("-pk").values("pk")
    rows = Question.objects.filter(pk__in=list(question_ids)).annotate(newest=Subquery(lines[:1]))
    return dict(rows.order_by().exclude(newest=None).values_list("pk", "newest"))


def of(only: int | None) -> dict[str, int]:
    """The condition that a row is of this question, or of any."""
    return {} if only is None else {"question": only}

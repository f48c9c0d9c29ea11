"""Whether a question was looked through for drift as it stands now: what that rests on, in a few
numbers."""

from __future__ import annotations

from collections import defaultdict

from quality import recompute
from quality.models import Alarm, Answer, DriftRun, Kind
from ratings.models import ImportRun


def stamps(only: int | None = None) -> recompute.Stamps:
    """question id -> what its alarms should rest on, of all questions that were ever counted, or of
    one. Other guidelines begin a new segment, an excused alarm gives ratings back, and the
    sensitivity says what rings."""
    excused: dict[int, list[int]] = defaultdict(list)
    answered = Alarm.objects.filter(answer=Answer.NOT_HIS_FAULT, **recompute.of(only))
    answered = answered.filter(kind=Kind.RATER_DRIFT)
    for question_id, alarm_id in answered.order_by("pk").values_list("question_id", "pk"):
        excused[question_id].append(alarm_id)
    found = recompute.counted(
        only, guidelines="project__guidelines_version", rules="project__alarm_rules__sensitivity"
    )
    for question_id, stamp in found.items():
        stamp["excused"] = excused[question_id]
    return found


def waiting() -> list[int]:
    """Ids of the questions that changed since they were looked through, the longest untouched
    first. One that an import writes into waits until all of it is there: half of a history may say
    what the whole does not."""
    writing = ImportRun.objects.filter(state=ImportRun.State.WRITING)
    importing = set(writing.values_list("question_id", flat=True))
    behind = recompute.behind(DriftRun, stamps())
    return [question_id for question_id in behind if question_id not in importing]

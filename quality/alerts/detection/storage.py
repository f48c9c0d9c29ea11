"""What a look at a question found, into its rows: new cases, and where each rater stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.jobs.lease import Lost, held
from events.services import record
from metrics.agreement import drift
from projects.models import Question
from quality.alerts.kinds import A_RATER, KINDS, THE_QUESTION
from quality.models import Alarm, AlarmStep, DriftRun, DriftStanding, Kind, Measure, State
from ratings.services.days import date_of

from .candidates import Raisable
from .matching import FOREVER, Stretch, match, pair_of
from .scan import Looked, number

AT_ONCE = 1_000


@transaction.atomic
def store(run: DriftRun, question: Question, looked: Looked) -> list[Alarm]:
    """Raise what is new, and put down where the raters stand; the new alarms. Lost, having written
    nothing, when the run is in other hands."""
    if held(run).select_for_update().first() is None:
        raise Lost
    if looked.drift is None:
        DriftStanding.objects.filter(question=question).delete()
        return []
    raised = cases(question, looked.ringing, LOOKED_FOR)
    _standings(question, looked.drift)
    return raised


LOOKED_FOR = frozenset(Kind.values) - {Kind.GOLD_SUSPECTED}  # in a look at a question


def cases(question: Question, found: Sequence[Raisable], kinds: Collection[str]) -> list[Alarm]:
    """A case for each finding that has none, of these kinds; the others are told whether they
    stand. In the caller's transaction, under the question's lock."""
    stored = list(Alarm.objects.filter(question=question).order_by("pk").defer("chart"))
    raised = []
    for kind in Kind.values:
        if kind not in kinds:
            continue
        of_kind = [case for case in stored if case.kind == kind]
        today = [one for one in found if one.kind == kind]
        matched = match([one.stretch for one in today], [_stretch(case) for case in of_kind])
        standing = set(matched.case_of.values())
        for place, case in enumerate(of_kind):
            if case.stands != (place in standing):
                case.stands = place in standing
                case.save(update_fields=["stands"])
        for place, one in enumerate(today):
            if matched.is_new(place) and not _explained(one, stored):
                case = _raise(question, one)
                stored.append(case)
                raised.append(case)
    return raised


def _explained(one: Raisable, stored: Sequence[Alarm]) -> bool:
    """Whether a case of another kind, that is not resolved, has the same cause: any of the same
    rater; of no rater alone, one whose days it shares."""
    mine, about = one.stretch, KINDS[one.kind].about
    for case in stored:
        if case.kind == one.kind or case.state == State.RESOLVED or not case.stands:
            continue
        if about != KINDS[case.kind].about:
            continue
        if about == A_RATER and set(mine.about) & set(_about(case)):
            return True
        if about == THE_QUESTION and not mine.apart(_stretch(case)):
            return True
    return False


def _about(case: Alarm) -> tuple[int, ...]:
    """Of whom, or of what: what two findings of a kind share that may be one."""
    if case.kind == Kind.CATEGORY_COLLAPSED:
        return (case.code or 0,)
    raters = [rater for rater in (case.rater_id, case.other_id) if rater is not None]
    return pair_of(raters) if case.kind == Kind.PAIR_DIVERGED else tuple(raters) or (0,)


def _stretch(case: Alarm) -> Stretch:
    if not KINDS[case.kind].about and case.state != State.RESOLVED:  # it goes on until then
        return Stretch(_about(case), number(case.since), FOREVER)
    if case.kind == Kind.GOLD_SUSPECTED:  # more of them are another case
        return Stretch((), number(case.since), number(case.noticed))
    return Stretch(_about(case), number(case.since), number(case.noticed))


def _raise(question: Question, one: Raisable) -> Alarm:
    case = Alarm.objects.create(
        question=question, kind=one.kind, raised_at=timezone.now(), **one.fields
    )
    AlarmStep.objects.create(alarm=case, at=case.raised_at, state=State.OPEN)
    tell(case, "alarm_raised")
    return case


def tell(case: Alarm, kind: str, *, by: Any = None, **data: Any) -> None:
    """Record an event of a case, in the caller's transaction."""
    record(
        project_id=case.question.project_id,
        kind=kind,
        subject=f"alarm/{case.pk}",
        data={
            "alarm": case.pk,
            "kind": case.kind,
            "question": case.question.key,
            "rater": case.rater.key if case.rater else None,
            "other_rater": case.other.key if case.other else None,
            "measure": case.measure,
            "since": case.since.isoformat(),
            "size": case.size,
            "n": case.n,
            **data,
        },
        by=by,
    )


# --- where everybody stands


def _standings(question: Question, found: drift.Drift) -> None:
    """All anew: they are few beside the ratings that they are made of."""
    rows = standings(question, found)
    DriftStanding.objects.filter(question=question).delete()
    DriftStanding.objects.bulk_create(rows, batch_size=AT_ONCE)


def standings(question: Question, found: drift.Drift) -> list[DriftStanding]:
    """A row of each rater."""
    charts = {chart.rater: chart for chart in found.charts}
    rows = []
    for place, standing in enumerate(found.raters):
        row = DriftStanding(
            question=question,
            rater_id=standing.rater,
            evidence=standing.evidence,
            greatest=standing.greatest,
            watched=standing.watched,
            n=standing.n,
            reason=standing.reason or "",
        )
        if place in charts and not standing.reason:
            _add_size(row, charts[place])
        rows.append(row)
    return rows


def _add_size(row: DriftStanding, chart: drift.Chart) -> None:
    """What the evidence of the newest day is most for."""
    t = chart.day.size - 1
    channel = chart.leading(t)
    evidence = chart.channels[channel]
    onset = int(evidence.onset[t])
    if onset < 0:
        return
    extent = chart.extent(channel, t)
    row.measure = Measure(drift.SCORE[channel])
    row.since = date_of(int(chart.day[onset]))
    row.size, row.low, row.high = float(evidence.step[t]), extent.low, extent.high

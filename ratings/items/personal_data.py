"""What is kept of a person who rates: to be handed to them, and to be forgotten while what they
said stays under a pseudonym. To forget both is `erasing`."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import security_log
from events.models import Event
from projects.models import Category, Deletion, Project, Rater, RaterIdentity
from ratings.models import (
    Apart,
    Assignment,
    Exam,
    ImportRun,
    Judged,
    RaterMessage,
    Rating,
    Revision,
)
from ratings.services.judgement import KEPT

PSEUDONYM = "former"
# What the summary of an import shows of single rows.
SHOWN_ROWS = ("preview", "repeat_examples", "double_examples", "unmatched", "suggested")


def lines(rater: Rater, *, as_shown: bool = False) -> Iterator[bytes]:
    """JSON Lines of all that is kept of the rater: who they are here, their ratings with all that
    they ever said, what they said of items that tested them, their exams, what was put before them,
    and what leads wrote to them. ``as_shown``: under the pseudonym, where the project hides who its
    raters are."""
    true = None if as_shown else RaterIdentity.objects.filter(rater=rater).first()
    user = None if as_shown and rater.project.raters_hidden else rater.user
    who = {
        "project": rater.project.name,
        "rater": true.key if true else rater.key,
        "name": true.name if true else rater.name,
        "kind": rater.kind,
        "group": rater.group,
        "paused": rater.paused,
        "account": user.get_username() if user else None,
    }
    yield _line(who)
    labels: dict[int, dict[int, str]] = defaultdict(dict)
    known = Category.objects.filter(question__project=rater.project_id)
    for question, code, label in known.values_list("question_id", "code", "label"):
        labels[question][code] = label
    ratings = Rating.objects.filter(rater=rater).select_related("question", "item").order_by("pk")
    for rating in ratings.prefetch_related("revisions").iterator(chunk_size=1_000):
        said = labels[rating.question_id]
        yield _line(
            {
                "item": rating.item.key,
                "question": rating.question.key,
                "label": said.get(rating.code),
                "rated_at": rating.rated_at,
                **_texts(rating),
                "seconds": rating.seconds,
                "guidelines": rating.guidelines,
                "item_version": rating.item_version,
                "history": [
                    {
                        "label": said.get(line.code),
                        "rated_at": line.rated_at,
                        "recorded_at": line.recorded_at,
                        "source": line.source,
                        **_texts(line),
                    }
                    for line in rating.revisions.all()
                ],
            }
        )
    apart = Apart.objects.filter(rater=rater).select_related("question", "item").order_by("pk")
    for line in apart.iterator(chunk_size=1_000):
        yield _line(
            {
                "apart": line.why,
                "item": line.item.key,
                "question": line.question.key,
                "label": labels[line.question_id].get(line.code),
                "rated_at": line.rated_at,
                "recorded_at": line.changed_at,
                **_texts(line),
                "seconds": line.seconds,
                "guidelines": line.guidelines,
                "item_version": line.item_version,
                "stands": line.stands,
            }
        )
    for exam in Exam.objects.filter(rater=rater).select_related("question"):
        yield _line(
            {
                "exam": exam.question.key,
                "try": exam.number,
                "state": exam.state,
                "began_at": exam.began_at,
                "ended_at": exam.ended_at,
                "answers": len(exam.answered),
                "right": exam.right,
                "reason": exam.reason,
            }
        )
    given = Assignment.objects.filter(rater=rater).select_related("item").order_by("pk")
    for one in given.iterator(chunk_size=1_000):
        yield _line(
            {
                "given": one.item.key,
                "state": one.state,
                "until": one.leased_until,
                "skip_reason": one.skip_reason,
                "flagged": one.flagged,
            }
        )

    for message in RaterMessage.objects.filter(rater=rater).select_related("by"):
        yield _line(
            {
                "message": message.text,
                "by": message.writer,
                "at": message.at,
                "read_at": message.read_at,
            }
        )


def _line(told: dict[str, Any]) -> bytes:
    return (json.dumps(told, ensure_ascii=False, default=_as_text) + "\n").encode()


def _texts(said: Judged) -> dict[str, str]:
    return {name: getattr(said, name) for name in KEPT}


def _emptied(rows: QuerySet[Any]) -> int:
    """Take the texts that a person wrote out of these rows; how many there were."""
    return sum(rows.exclude(**{name: ""}).update(**{name: ""}) for name in KEPT)


def _as_text(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


@transaction.atomic
def keep_under_pseudonym(*, rater: Rater, by: Any, comments: bool) -> Rater:
    """Take the person out of the rater: key, name, account and what leads wrote to them; and what
    they wrote unless ``comments`` stay. What they said stays, and so does every count. The trace
    says how much."""
    stood = Rater.objects.select_for_update().get(pk=rater.pk)
    ratings = Rating.objects.filter(rater=stood)
    counts = {"ratings": ratings.standing().count(), "comments": 0}
    if not comments:
        written = Revision.objects.filter(rating__rater=stood)
        apart = Apart.objects.filter(rater=stood)
        counts["comments"] = sum(map(_emptied, (ratings, written, apart)))
        Assignment.objects.filter(rater=stood).exclude(skip_reason="").update(skip_reason="")
    RaterMessage.objects.filter(rater=stood).delete()
    pseudonym = f"{PSEUDONYM}-{secrets.token_hex(4)}"
    # Under a pseudonym already, where the project hides its raters: then the one of today stays.
    hidden = RaterIdentity.objects.filter(rater=stood)
    shown = stood.key if hidden.exists() else pseudonym
    forget_names(stood, shown)
    hidden.update(key=pseudonym, name="")
    stood.key, stood.name, stood.user, stood.paused = shown, "", None, True
    stood.save(update_fields=["key", "name", "user", "paused"])
    Project.objects.filter(pk=stood.project_id).catalogue_changed()
    now = timezone.now()
    Deletion.objects.create(
        kind=Deletion.Kind.PERSON,
        target=stood.pk,
        project_id=stood.project_id,
        by=by,
        asked_at=now,
        finished_at=now,
        counts=counts,
    )
    security_log.event(
        "person_forgotten",
        project_id=stood.project_id,
        by=by.pk if by else None,
        rater=stood.pk,
        kept_as=pseudonym,
    )
    return stood


def forget_names(rater: Rater, instead: str) -> None:
    """What other rows of the project hold of the rater's name: rows that finished imports show, and
    what happened."""
    runs = ImportRun.objects.filter(
        project=rater.project_id, state__in=(ImportRun.State.DONE, ImportRun.State.FAILED)
    )
    true = RaterIdentity.objects.filter(rater=rater).values_list("key", flat=True)
    for run in runs.select_for_update():
        run.summary = {name: told for name, told in run.summary.items() if name not in SHOWN_ROWS}
        matched = run.mapping.get("members", {})
        keys = (rater.key, *true)
        run.mapping["members"] = {
            key: user for key, user in matched.items() if key not in keys and user != rater.user_id
        }
        run.save(update_fields=["summary", "mapping"])
    for event in Event.objects.filter(project=rater.project_id, data__rater=rater.key):
        Event.objects.filter(pk=event.pk).update(data={**event.data, "rater": instead})

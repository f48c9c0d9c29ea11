"""Personal data of raters: export, and pseudonymization that keeps the ratings.

To delete the ratings as well, see ``ratings.items.removal``.
"""

from __future__ import annotations

import itertools
import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import security_log
from core.hooks import Hook
from events.kinds import RATER_KEY_FIELDS
from events.models import Event
from projects import permissions
from projects.models import Category, Deletion, Project, Rater, RaterIdentity
from ratings.files import export_files
from ratings.models import (
    Assignment,
    CheckAnswer,
    Exam,
    ImportRun,
    JudgementBase,
    LabelStudioConnection,
    LabelStudioObject,
    RaterMessage,
    Rating,
    Revision,
)
from ratings.services.judgement import STORED_TEXTS

PSEUDONYM_PREFIX = "former"
# Fields of an import's summary that show single rows.
ROW_EXAMPLE_FIELDS = (
    "preview",
    "repeat_examples",
    "duplicate_examples",
    "unmatched_raters",
    "suggested_members",
)


Labels = Mapping[int, Mapping[int, str]]  # {question id: {code: label}}
Record = dict[str, object]  # one JSON line


@dataclass(frozen=True)
class PersonalRecords:
    """Functions of a package that depends on this one and stores data about raters.

    ``iter_records`` yields the data for the export; ``clear_texts`` clears the texts that the rater
    wrote, and returns their number.
    """

    iter_records: Callable[[Rater], Iterator[Record]]
    clear_texts: Callable[[Rater], int]


PERSONAL_RECORDS: Hook[PersonalRecords] = Hook("personal_records")


def iter_personal_data(rater: Rater, *, as_shown: bool = False) -> Iterator[bytes]:
    """Yield JSON Lines of all data about the rater.

    These are their identity, ratings with history, check answers, exams, assignments, messages from
    leads, and data of PERSONAL_RECORDS. ``as_shown``: with the pseudonym if the project hides its
    raters.
    """
    labels: dict[int, dict[int, str]] = defaultdict(dict)
    categories = Category.objects.filter(question__project=rater.project_id)
    for question, code, label in categories.values_list("question_id", "code", "label"):
        labels[question][code] = label
    parts = (
        [_build_identity(rater, as_shown=as_shown)],
        _iter_ratings(rater, labels),
        _iter_check_answers(rater, labels),
        _iter_exams(rater),
        _iter_assignments(rater),
        _iter_accounts_and_messages(rater),
        *(records.iter_records(rater) for records in PERSONAL_RECORDS),
    )
    for record in itertools.chain.from_iterable(parts):
        yield (json.dumps(record, ensure_ascii=False, default=_format_value) + "\n").encode()


def _build_identity(rater: Rater, *, as_shown: bool) -> Record:
    identity = None if as_shown else RaterIdentity.objects.filter(rater=rater).first()
    user = None if as_shown and rater.project.hides_raters else rater.user
    return {
        "project": rater.project.name,
        "rater": identity.key if identity else rater.key,
        "name": identity.name if identity else rater.name,
        "kind": rater.kind,
        "group": rater.group,
        "paused": rater.paused,
        "account": user.get_username() if user else None,
    }


def _iter_ratings(rater: Rater, labels: Labels) -> Iterator[Record]:
    """Yield the ratings with their history."""
    ratings = Rating.objects.filter(rater=rater).select_related("question", "item").order_by("pk")
    for rating in ratings.prefetch_related("revisions").iterator(chunk_size=1_000):
        question_labels = labels[rating.question_id]
        yield {
            "item": rating.item.key,
            "question": rating.question.key,
            "label": question_labels.get(rating.code),
            "rated_at": rating.rated_at,
            **_get_texts(rating),
            "seconds": rating.seconds,
            "guidelines": rating.guidelines,
            "item_version": rating.item_version,
            "history": [
                {
                    "label": question_labels.get(entry.code),
                    "rated_at": entry.rated_at,
                    "recorded_at": entry.recorded_at,
                    "source": entry.source,
                    **_get_texts(entry),
                }
                for entry in rating.revisions.all()
            ],
        }


def _iter_check_answers(rater: Rater, labels: Labels) -> Iterator[Record]:
    check_answers = (
        CheckAnswer.objects.filter(rater=rater).select_related("question", "item").order_by("pk")
    )
    for entry in check_answers.iterator(chunk_size=1_000):
        yield {
            "check": entry.kind,
            "item": entry.item.key,
            "question": entry.question.key,
            "label": labels[entry.question_id].get(entry.code),
            "rated_at": entry.rated_at,
            "recorded_at": entry.changed_at,
            **_get_texts(entry),
            "seconds": entry.seconds,
            "guidelines": entry.guidelines,
            "item_version": entry.item_version,
            "current": entry.is_current,
        }


def _iter_exams(rater: Rater) -> Iterator[Record]:
    for exam in Exam.objects.filter(rater=rater).select_related("question"):
        yield {
            "exam": exam.question.key,
            "attempt": exam.number,
            "state": exam.state,
            "started_at": exam.started_at,
            "ended_at": exam.ended_at,
            "answers": exam.n_scored,
            "right": exam.n_right,
            "reason": exam.reason,
        }


def _iter_assignments(rater: Rater) -> Iterator[Record]:
    assignments = Assignment.objects.filter(rater=rater).select_related("item").order_by("pk")
    for assignment in assignments.iterator(chunk_size=1_000):
        yield {
            "assigned_item": assignment.item.key,
            "state": assignment.state,
            "leased_until": assignment.leased_until,
            "skip_reason": assignment.skip_reason,
            "flagged": assignment.flagged,
        }


def _iter_accounts_and_messages(rater: Rater) -> Iterator[Record]:
    """Yield the accounts in Label Studio, then the messages from leads."""
    accounts = LabelStudioObject.objects.filter(rater=rater, kind=LabelStudioObject.Kind.USER)
    for account in accounts.select_related("connection"):
        yield {"label_studio": str(account.connection), "user": account.remote_id}
    for message in RaterMessage.objects.filter(rater=rater).select_related("sender"):
        yield {
            "message": message.text,
            "sender": message.sender_name,
            "sent_at": message.sent_at,
            "read_at": message.read_at,
        }


def _get_texts(judgement: JudgementBase) -> dict[str, str]:
    return {name: getattr(judgement, name) for name in STORED_TEXTS}


def _clear_texts_of_rater(rater: Rater) -> int:
    """Clear all texts that a rater wrote; return their number, not counting reasons of skips."""
    ratings = Rating.objects.filter(rater=rater)
    revisions = Revision.objects.filter(rating__rater=rater)
    check_answers = CheckAnswer.objects.filter(rater=rater)
    Assignment.objects.filter(rater=rater).exclude(skip_reason="").update(skip_reason="")
    n_comments = sum(map(_clear_texts, (ratings, revisions, check_answers)))
    return n_comments + sum(records.clear_texts(rater) for records in PERSONAL_RECORDS)


def _clear_texts(rows: QuerySet[Any]) -> int:
    """Clear the texts that a person wrote in these rows; return the number of cleared texts."""
    return sum(rows.exclude(**{name: ""}).update(**{name: ""}) for name in STORED_TEXTS)


def _format_value(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


@transaction.atomic
def pseudonymize_rater(*, rater: Rater, by: Any, comments: bool) -> Rater:
    """Replace the rater's key by a pseudonym; delete name, account and messages; keep ratings.

    Texts are cleared unless ``comments`` is True. A Deletion row records the numbers.
    """
    permissions.raise_if_under_legal_hold(rater.project_id)
    locked_rater = Rater.objects.select_for_update().get(pk=rater.pk)
    counts = {
        "ratings": Rating.objects.filter(rater=locked_rater).current().count(),
        "comments": 0 if comments else _clear_texts_of_rater(locked_rater),
    }
    RaterMessage.objects.filter(rater=locked_rater).delete()
    pseudonym = f"{PSEUDONYM_PREFIX}-{secrets.token_hex(4)}"
    # Where the project hides its raters, the current pseudonym stays.
    identities = RaterIdentity.objects.filter(rater=locked_rater)
    shown_key = locked_rater.key if identities.exists() else pseudonym
    replace_names(locked_rater, shown_key)
    identities.update(key=pseudonym, name="")
    locked_rater.key, locked_rater.name = shown_key, ""
    locked_rater.user, locked_rater.paused = None, True
    locked_rater.save(update_fields=["key", "name", "user", "paused"])
    Project.objects.filter(pk=locked_rater.project_id).increment_items_and_raters_version()
    now = timezone.now()
    Deletion.objects.create(
        kind=Deletion.Kind.PERSON,
        target=locked_rater.pk,
        project_id=locked_rater.project_id,
        by=by,
        requested_at=now,
        finished_at=now,
        counts=counts,
    )
    security_log.log_event(
        "rater_pseudonymized",
        project_id=locked_rater.project_id,
        by=by.pk if by else None,
        rater=locked_rater.pk,
        pseudonym=pseudonym,
    )
    return locked_rater


def replace_names(rater: Rater, replacement: str) -> None:
    """Remove the rater's name from ended imports and from connections, and replace it in events.

    ``replacement`` is the key that events then show. Exported files are deleted. What the person
    annotates in Label Studio from then on is ignored.
    """
    export_files.discard_project_exports(rater.project_id)
    runs = ImportRun.objects.filter(
        project=rater.project_id, state__in=(ImportRun.State.DONE, ImportRun.State.FAILED)
    )
    identity_keys = RaterIdentity.objects.filter(rater=rater).values_list("key", flat=True)
    keys = (rater.key, *identity_keys)
    LabelStudioObject.objects.filter(rater=rater, kind=LabelStudioObject.Kind.USER).update(
        rater=None
    )
    connections = LabelStudioConnection.objects.filter(project=rater.project_id)
    for connection in connections.select_for_update():
        _remove_member(connection.mapping, keys, rater.user_id)
        connection.save(update_fields=["mapping"])
    for run in runs.select_for_update():
        run.summary = {
            name: value for name, value in run.summary.items() if name not in ROW_EXAMPLE_FIELDS
        }
        _remove_member(run.mapping, keys, rater.user_id)
        run.save(update_fields=["summary", "mapping"])
    for name in RATER_KEY_FIELDS:
        for event in Event.objects.filter(project=rater.project_id, **{f"data__{name}": rater.key}):
            Event.objects.filter(pk=event.pk).update(data={**event.data, name: replacement})


def _remove_member(mapping: dict[str, Any], keys: tuple[str, ...], user_id: int | None) -> None:
    """Remove a rater, by keys and user id, from the matches in a mapping of an import.

    ``user_id`` is None for a rater without an account.
    """
    members = mapping.get("members", {})
    mapping["members"] = {
        key: user for key, user in members.items() if key not in keys and user != user_id
    }

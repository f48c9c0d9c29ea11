"""Events are stored if and only if their transaction commits."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from events.models import Event
from events.services import record_event


@pytest.mark.django_db(transaction=True)
def test_no_event_is_recorded_outside_a_transaction(project: Any) -> None:
    with pytest.raises(RuntimeError, match="in the transaction"):
        record_event(project_id=project.pk, kind="alert.opened", data={})
    assert not Event.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_event_is_rolled_back_with_its_transaction(project: Any, lead: Any) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record_event(project_id=project.pk, kind="alert.opened", data={})
        raise ZeroDivisionError
    assert not Event.objects.exists()
    with transaction.atomic():
        record_event(
            project_id=project.pk, kind="alert.opened", subject="alert/1", data={"n": 3}, by=lead
        )
    event = Event.objects.get()
    assert (event.kind, event.subject, event.data, event.by) == (
        "alert.opened",
        "alert/1",
        {"n": 3},
        lead,
    )


@pytest.mark.django_db
def test_an_event_is_never_changed(project: Any) -> None:
    event = record_event(project_id=project.pk, kind="alert.opened", data={})
    with pytest.raises(TypeError):
        event.save()
    with pytest.raises(TypeError):
        event.delete()


@pytest.mark.django_db
def test_an_undeclared_kind_is_rejected(project: Any) -> None:
    with pytest.raises(ValueError, match="odd"):
        record_event(project_id=project.pk, kind="odd", data={})


@pytest.mark.django_db
@pytest.mark.parametrize("subject", ["", "rater/", "rater/expert-1", "alert/1"])
def test_a_mail_to_a_rater_needs_the_rater_as_subject(project: Any, subject: str) -> None:
    with pytest.raises(ValueError, match="must be rater/ID"):
        record_event(project_id=project.pk, kind="rater.messaged", subject=subject, data={})
    record_event(project_id=project.pk, kind="rater.messaged", subject="rater/1", data={})
    assert Event.objects.count() == 1

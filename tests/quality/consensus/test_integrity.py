"""Stored labels equal those made anew, and `manage.py audit` says where they do not."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import Question
from quality.consensus import integrity, recompute
from quality.models import ItemLabel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def labelled(answered: Question) -> Question:
    recompute.recompute_question(answered.pk)
    return answered


def test_labels_that_nobody_touched_are_exact(labelled: Question, capsys: Any) -> None:
    assert integrity.list_differences(labelled.pk) == []
    call_command("audit")
    assert "all counts are exact" in capsys.readouterr().out


def test_a_label_that_is_another_one_is_named_and_repaired(labelled: Question, capsys: Any) -> None:
    right = ItemLabel.objects.get(item__key="i07")
    ItemLabel.objects.filter(item__key="i07").update(confidence=0.123)
    ItemLabel.objects.filter(item__key="i08").delete()
    with pytest.raises(CommandError):
        call_command("audit")
    said = capsys.readouterr().err
    assert "label of item i07" in said
    assert "label of item i08" in said
    call_command("audit", "--repair")
    assert ItemLabel.objects.get(item__key="i07").confidence == right.confidence
    assert integrity.list_differences(labelled.pk) == []


def test_labels_that_wait_are_not_compared(labelled: Question, rate: Any) -> None:
    from metrics.jobs import question_updates

    rate(labelled, "i07", "late", "minor")
    question_updates.update_question(labelled.pk)
    assert integrity.list_differences(labelled.pk) == []

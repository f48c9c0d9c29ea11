"""Test that stored labels equal recomputed ones and that `manage.py audit` reports differences."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import Question
from quality import integrity
from quality.consensus import recomputation
from quality.models import ItemLabel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def labelled_question(rated_question: Question) -> Question:
    recomputation.recompute_question(rated_question.pk)
    return rated_question


def test_unchanged_labels_have_no_differences(labelled_question: Question, capsys: Any) -> None:
    assert integrity.list_label_differences(labelled_question.pk) == []
    call_command("audit")
    assert "all counts are exact" in capsys.readouterr().out


def test_changed_label_is_reported_and_repaired(labelled_question: Question, capsys: Any) -> None:
    correct_label = ItemLabel.objects.get(item__key="i07")
    ItemLabel.objects.filter(item__key="i07").update(confidence=0.123)
    ItemLabel.objects.filter(item__key="i08").delete()
    with pytest.raises(CommandError):
        call_command("audit")
    errors = capsys.readouterr().err
    assert "label of item i07" in errors
    assert "label of item i08" in errors
    call_command("audit", "--repair")
    assert ItemLabel.objects.get(item__key="i07").confidence == correct_label.confidence
    assert integrity.list_label_differences(labelled_question.pk) == []


def test_stale_labels_are_not_compared(labelled_question: Question, rate: Any) -> None:
    from metrics.jobs import question_updates

    rate(labelled_question, "i07", "late", "minor")
    question_updates.update_question(labelled_question.pk)
    assert integrity.list_label_differences(labelled_question.pk) == []

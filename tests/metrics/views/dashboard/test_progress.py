"""Test the card Progress of the overview."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from metrics.jobs import question_updates
from projects.models import Item, Question, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db


def test_recent_ratings_are_those_given_in_the_last_seven_days(
    question: Question, client_for: Callable[[User], Client], lead: User
) -> None:
    project = question.project
    items = Item.objects.bulk_create(Item(project=project, key=f"i{n}") for n in range(40))
    raters = Rater.objects.bulk_create(Rater(project=project, key=f"r{n}") for n in range(2))
    now = timezone.now()
    # Old ratings in great number, which a mean over the newest periods would repeat for ever.
    ages = [800] * 30 + [9] * 5 + [5] * 4 + [0]
    record_ratings(
        {
            question: [
                Judgement(item.pk, rater.pk, 1, rated_at=now - datetime.timedelta(days=age))
                for item, age in zip(items, ages, strict=True)
                for rater in raters
            ]
        },
        by=None,
        source="import",
    )
    question_updates.update_question(question.pk)
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/")
    assert page.context["progress"].n_recent == 10
    assert "Last 7 days: 10 ratings" in page.text
    filtered = client.get(f"/projects/{project.pk}/?to={now.date() - datetime.timedelta(days=30)}")
    assert "Last 7 days" not in filtered.text

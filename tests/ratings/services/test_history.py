"""Revisions after a write of any size: few, some and many ratings use different statements."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import Item, Rater
from ratings.models import Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize("n_ratings", [1, 20, 60, 300])
def test_superseded_answers_come_before_the_current_one(
    project: Any, question: Any, lead: User, n_ratings: int
) -> None:
    items = Item.objects.bulk_create(
        Item(project=project, key=f"k{number}") for number in range(n_ratings)
    )
    rater = Rater.objects.create(project=project, key="r")
    hours = [NOON + datetime.timedelta(hours=number) for number in range(3)]
    superseded = [(), ((3, hours[0]),), ((2, hours[1]), (0, None), (2, hours[0]))]
    ratings = [
        Judgement(
            item.pk,
            rater.pk,
            1,
            rated_at=hours[2],
            comment=f"said {index}",
            superseded=superseded[index % 3],
        )
        for index, item in enumerate(items)
    ]
    assert record_ratings({question: ratings[::-1]}, by=lead, source="import").created == n_ratings
    fields = ("rating__item_id", "code", "rated_at", "comment", "superseded", "by_id", "source")
    revisions = Revision.objects.order_by("rating__item_id", "id")
    assert list(revisions.values_list(*fields)) == [
        (judgement.item_id, *revision, lead.pk, "import")
        for judgement in ratings
        for revision in [
            *((code, rated_at or hours[2], "", True) for code, rated_at in judgement.superseded),
            (1, hours[2], judgement.comment, False),
        ]
    ]
    assert {revision.recorded_at for revision in revisions} == {
        revision.rating.changed_at for revision in revisions.select_related("rating")
    }

"""The lines of history that a writing of any size leaves: few, some and many take different
statements."""

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


@pytest.mark.parametrize("many", [1, 20, 60, 300])
def test_what_a_source_said_before_comes_before_what_stands(
    project: Any, question: Any, lead: User, many: int
) -> None:
    items = Item.objects.bulk_create(
        Item(project=project, key=f"k{number}") for number in range(many)
    )
    rater = Rater.objects.create(project=project, key="r")
    hours = [NOON + datetime.timedelta(hours=number) for number in range(3)]
    earlier = [(), ((3, hours[0]),), ((2, hours[1]), (0, None), (2, hours[0]))]
    ratings = [
        Judgement(
            item.pk,
            rater.pk,
            1,
            rated_at=hours[2],
            comment=f"said {place}",
            superseded=earlier[place % 3],
        )
        for place, item in enumerate(items)
    ]
    assert record_ratings({question: ratings[::-1]}, by=lead, source="import").created == many
    fields = ("rating__item_id", "code", "rated_at", "comment", "superseded", "by_id", "source")
    lines = Revision.objects.order_by("rating__item_id", "id")
    assert list(lines.values_list(*fields)) == [
        (new.item_id, *line, lead.pk, "import")
        for new in ratings
        for line in [
            *((code, rated_at or hours[2], "", True) for code, rated_at in new.superseded),
            (1, hours[2], new.comment, False),
        ]
    ]
    assert {line.recorded_at for line in lines} == {
        line.rating.changed_at for line in lines.select_related("rating")
    }

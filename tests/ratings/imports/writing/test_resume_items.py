"""Workers that die while items, gold answers and skips are written: nothing is lost or doubled."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from django.utils import timezone

from projects.models import GoldAnswer, Item
from ratings import tasks
from ratings.imports import leases
from ratings.imports.writing import items, ratings
from ratings.models import Assignment, ImportRun, Rating, Revision
from tests.ratings.imports.wizard_client import Wizard

TASKS = [
    {
        "id": number,
        "data": {"text": f"Text {number}"},
        "annotations": [
            {
                "completed_by": by,
                "result": [
                    {
                        "from_name": "tone",
                        "type": "choices",
                        "value": {"choices": ["kind" if number % 2 else "rude"]},
                    }
                ],
                "was_cancelled": by == 3,
                "ground_truth": by == 1,
            }
            for by in (1, 2, 3)
        ],
    }
    for number in range(10)
]


class Died(BaseException):
    """What no `except Exception` catches, like the end of the process."""


# what is called once a piece -> the pieces in which the worker dies
STEPS = {
    "put_items": (items, [1, 3]),
    "record": (ratings, [1, 4]),
    "bulk_create": (Assignment.objects, [1, 3]),
}


@pytest.mark.parametrize(
    ("name", "piece"), [(name, piece) for name, (_at, pieces) in STEPS.items() for piece in pieces]
)
def test_killed_worker_is_followed_by_another(
    lead: Any, client_for: Any, monkeypatch: Any, name: str, piece: int
) -> None:
    monkeypatch.setattr(ratings, "BATCH_SIZES", {"sqlite": 4, "postgresql": 4})
    wizard = Wizard(client_for(lead))
    wizard.check(json.dumps(TASKS).encode())
    wizard.start()
    where = STEPS[name][0]
    real = getattr(where, name)
    calls = iter(range(1, 1000))

    def dying(*arguments: Any, **named: Any) -> Any:
        found = real(*arguments, **named)
        if next(calls) == piece:
            raise Died
        return found

    with monkeypatch.context() as patch:
        patch.setattr(where, name, dying)
        with pytest.raises(Died):
            wizard.work()
    run = wizard.run
    assert (run.state, run.rows_total) == ("writing", 40)
    assert run.rows_done < 40
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    assert tasks.resume_stalled() == 1
    run = wizard.run
    assert (run.state, run.rows_done) == ("done", 40)
    assert Item.objects.count() == GoldAnswer.objects.count() == 10
    assert Rating.objects.count() == Revision.objects.count() == 20
    assert Assignment.objects.filter(state="skipped").count() == 10
    outcome = run.summary["outcome"]
    assert (outcome["items"], outcome["gold"], outcome["skipped"]) == (10, 10, 10)
    assert (outcome["created"], outcome["raters"]) == (20, 3)

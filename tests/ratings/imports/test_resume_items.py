"""Workers that die while they write items, gold answers and skips: no row is lost or doubled."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from django.utils import timezone

from projects.models import GoldAnswer, Item
from ratings import tasks
from ratings.imports import batch_writer, item_writer, leases
from ratings.models import Assignment, ImportRun, Rating, Revision
from tests.ratings.imports.wizard_client import WizardClient

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


class SimulatedItemCrash(BaseException):
    """Not caught by `except Exception`, like the end of the process."""


# function called once per batch -> its module, and the batches in which the worker dies
STEPS = {
    "upsert_items": (item_writer, [1, 3]),
    "record_ratings": (batch_writer, [1, 4]),
    "bulk_create": (Assignment.objects, [1, 3]),
}


@pytest.mark.parametrize(
    ("name", "batch"),
    [(name, batch) for name, (_at, batches) in STEPS.items() for batch in batches],
)
def test_another_worker_resumes_after_a_kill_between_items(
    lead: Any, client_for: Any, monkeypatch: Any, name: str, batch: int
) -> None:
    monkeypatch.setattr(batch_writer, "BATCH_SIZES", {"sqlite": 4, "postgresql": 4})
    wizard = WizardClient(client_for(lead))
    wizard.upload_and_validate(json.dumps(TASKS).encode())
    wizard.start_import()
    target = STEPS[name][0]
    original = getattr(target, name)
    calls = iter(range(1, 1000))

    def call_and_crash(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        if next(calls) == batch:
            raise SimulatedItemCrash
        return result

    with monkeypatch.context() as patch:
        patch.setattr(target, name, call_and_crash)
        with pytest.raises(SimulatedItemCrash):
            wizard.run_worker()
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

"""Days that are often asked for, one click away."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine

from projects.setup.projects import change_project

pytestmark = pytest.mark.django_db


def test_presets_are_days_of_the_project(
    project: Any, question: Any, client_for: Any, lead: Any
) -> None:
    project.time_zone = "Pacific/Auckland"  # there it is the 3rd already
    project.save()
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False):
        change_project(project=project, by=lead, guidelines="Look.")
        change_project(project=project, by=lead, guidelines="Look twice.")
    with time_machine.travel("2026-03-02T12:00:00Z", tick=False):
        page = client_for(lead).get(
            f"/projects/{project.pk}/", {"from": "2026-02-25", "to": "2026-03-01", "page": "1"}
        )
        presets = page.context["filter_bar"].presets
    assert [(one.words, one.url.partition("?")[2]) for one in presets] == [
        ("7 days", "from=2026-02-25"),
        ("30 days", "from=2026-02-02"),
        ("since guidelines 2", "from=2026-03-02"),
    ]
    assert [one.chosen for one in presets] == [False, False, False]  # `to` is chosen too
    with time_machine.travel("2026-03-02T12:00:00Z", tick=False):
        page = client_for(lead).get(presets[0].url)
    assert [one.chosen for one in page.context["filter_bar"].presets] == [True, False, False]

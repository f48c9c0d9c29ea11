"""How many cases wait for somebody to look at them."""

from __future__ import annotations

from django.db.models import Count

from quality.models import Alarm, State


def open_by_project(projects: list[int]) -> dict[int, int]:
    """Project -> its open cases, of those that have any; one query."""
    cases = Alarm.objects.filter(question__project__in=projects, state=State.OPEN).order_by()
    return dict(cases.values_list("question__project_id").annotate(Count("pk")))

"""Deletion of a project by API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metrics.jobs import permanent_deletions
from projects.models import Deletion, Project, Question

Address = Callable[..., str]


def test_project_is_archived_at_once_and_deleted_by_workers(
    api: Any, address: Address, project: Project, question: Question, rate: Any
) -> None:
    rate(question, "i1", "ann", "major")
    response = api.delete(address())
    assert response.status_code == 200, response.content
    assert response.json()["deleted"] is True
    assert response.json()["counts"]["ratings"] == 1
    project.refresh_from_db()
    assert project.archived_at is not None
    assert Deletion.objects.get().finished_at is None
    while permanent_deletions.process_pending_deletions():
        pass
    assert not Project.objects.filter(pk=project.pk).exists()
    assert Deletion.objects.get().finished_at is not None
    assert api.get(address()).status_code == 404


def test_legal_hold_keeps_the_project(
    api: Any, address: Address, project: Project, settings: Any
) -> None:
    settings.LEGAL_HOLD = ["all"]
    response = api.delete(address())
    assert response.status_code == 403
    assert "legal hold" in response.json()["error"]["message"]
    assert not Deletion.objects.exists()

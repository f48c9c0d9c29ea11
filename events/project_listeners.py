"""Record events for the hooks of ``projects``, which must not import ``events``."""

from __future__ import annotations

from typing import Any

from projects.models import Project, Rater

from .services import record_event


def record_guidelines_change(project: Project, by: Any) -> None:
    """Record that a project's guidelines have a new version."""
    record_event(
        project_id=project.pk,
        kind="guidelines.changed",
        subject=f"guidelines/{project.guidelines_version}",
        data={"version": project.guidelines_version, "characters": len(project.guidelines)},
        by=by,
    )


def record_pause_or_resume(rater: Rater, by: Any) -> None:
    """Record that a rater was paused or resumed."""
    data: dict[str, Any] = {"rater": rater.key}
    if rater.paused:
        data["reason"] = "gold" if rater.gold_notice == Rater.GoldNotice.PAUSED else "lead"
    record_event(
        project_id=rater.project_id,
        kind="rater.paused" if rater.paused else "rater.resumed",
        subject=f"rater/{rater.pk}",
        data=data,
        by=by,
    )

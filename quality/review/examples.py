"""A decision as an example in the guidelines."""

from __future__ import annotations

from typing import Any

from projects.models import Item, Project, Question
from projects.services import projects
from quality.models import Decision
from ratings.items import content

LONGEST = 1_000  # characters of an item that an example shows


def add(*, question: Question, item: Item, by: Any) -> Project | None:
    """The item with the decision that stands, and its reason, at the end of the guidelines, as
    their next version; None where nothing is decided. Raises project_rules.Refused where they
    become too long."""
    standing = Decision.objects.filter(question=question, item=item).order_by("number").last()
    if standing is None or standing.code is None:
        return None
    label = question.categories.get(code=standing.code).label
    project = Project.objects.get(pk=question.project_id)
    text = "\n\n".join(part for part in (project.guidelines.rstrip(), _worded(item, label)) if part)
    if standing.reason:
        text += f"\n\n{standing.reason}"
    return projects.change_project(project=project, by=by, guidelines=f"{text}\n")


def _worded(item: Item, label: str) -> str:
    said = [block.value for block in content.blocks(item.body) if block.kind == "text"]
    shown = (said[0] if said else item.key)[:LONGEST].splitlines()
    quoted = "\n".join(f"> {line}" for line in shown)
    return f"**{label}**\n\n{quoted}"

"""Decisions as examples in the guidelines."""

from __future__ import annotations

from typing import Any

from projects.models import Item, Project, Question
from projects.services import projects
from quality.models import Decision
from ratings.items import content

MAX_ITEM_LENGTH = 1_000  # characters of an item shown in an example


def add_example(*, question: Question, item: Item, by: Any) -> Project | None:
    """Append the item with its decision and reason to the guidelines, as their next version.

    Returns None without a decision. Raises InvalidProjectChange where the guidelines become too
    long.
    """
    decision = Decision.objects.filter(question=question, item=item).order_by("number").last()
    if decision is None or decision.code is None:
        return None
    label = question.categories.get(code=decision.code).label
    project = Project.objects.get(pk=question.project_id)
    text = "\n\n".join(
        part for part in (project.guidelines.rstrip(), _format_example(item, label)) if part
    )
    if decision.reason:
        text += f"\n\n{decision.reason}"
    return projects.change_project(project=project, by=by, guidelines=f"{text}\n")


def _format_example(item: Item, label: str) -> str:
    texts = [block.value for block in content.build_blocks(item.body) if block.kind == "text"]
    lines = (texts[0] if texts else item.key)[:MAX_ITEM_LENGTH].splitlines()
    quoted = "\n".join(f"> {line}" for line in lines)
    return f"**{label}**\n\n{quoted}"

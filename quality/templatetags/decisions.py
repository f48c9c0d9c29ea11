"""Template tag that says whether raters see decisions on their items."""

from __future__ import annotations

from django import template

from projects.models import Project
from quality.models import LabelRules

register = template.Library()


@register.simple_tag
def shows_decisions(project: Project) -> bool:
    """Return True if the lead shows decisions to raters for a question of the project."""
    return LabelRules.objects.filter(question__project=project, show_to_raters=True).exists()

"""Template filter for guidelines."""

from django import template
from django.utils.safestring import SafeString

from projects.guidelines import render_markdown

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Render Markdown as safe HTML: ``{{ project.guidelines|markdown }}``."""
    return render_markdown(text or "")

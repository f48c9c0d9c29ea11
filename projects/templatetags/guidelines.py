from django import template
from django.utils.safestring import SafeString

from projects.guidelines import as_html

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """``{{ project.guidelines|markdown }}``: safe HTML."""
    return as_html(text or "")

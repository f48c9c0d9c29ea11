"""Template tag for the names of time zones."""

import functools

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from projects.services.project_validation import list_time_zones

register = template.Library()


@register.simple_tag
@functools.cache  # six hundred, the same on every page
def time_zone_options() -> SafeString:
    """Return an option for each time zone: ``{% time_zone_options %}`` in a datalist."""
    return format_html_join(
        "", '<option value="{}"></option>', ((zone,) for zone in list_time_zones())
    )

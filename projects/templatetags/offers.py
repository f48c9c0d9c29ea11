"""Template tag for the roles that a user was offered."""

from typing import Any

from django import template

from projects.models import MemberOffer
from projects.services.members import role_offers

register = template.Library()


@register.simple_tag
def open_offers(user: Any) -> list[MemberOffer]:
    """List the user's open offers, newest first: ``{% open_offers user as offers %}``."""
    return role_offers.list_recent_offers(user)

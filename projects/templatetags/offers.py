"""Template tag for the roles that a user was offered."""

from typing import Any

from django import template

from projects.models import MemberOffer
from projects.services.members import offers

register = template.Library()


@register.simple_tag
def offers_to(user: Any) -> list[MemberOffer]:
    """List the user's open offers, newest first: ``{% offers_to user as offers %}``."""
    return offers.list_recent_offers(user)

from typing import Any

from django import template

from projects.models import MemberOffer
from projects.services.members import offers

register = template.Library()


@register.simple_tag
def offers_to(user: Any) -> list[MemberOffer]:
    """``{% offers_to user as offers %}``: the roles that were offered to somebody."""
    return offers.shown_to(user)

"""What is removed by its age: the days of each rule are settings, and 0 keeps for ever.

The workers' housekeeping applies the rules once an hour; docs/privacy.md says what they are for.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from typing import NamedTuple

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from agreement_site.models import TrailLine
from projects.models import ApiToken
from projects.services.members import offers

logger = logging.getLogger(__name__)

Moment = datetime.datetime


class Rule(NamedTuple):
    setting: str
    removes: Callable[[Moment], int]  # what is older than the moment; how much it was
    what: str


def trail_lines(before: Moment) -> int:
    return TrailLine.objects.filter(at__lt=before).delete()[0]


def trail_addresses(before: Moment) -> int:
    """The line stays, and with it who did what."""
    return TrailLine.objects.filter(at__lt=before).exclude(address="").update(address="")


def dead_tokens(before: Moment) -> int:
    """Revoked or ended before; they open nothing, but tell who had them, and used them when."""
    dead = Q(revoked_at__lt=before) | Q(expires_at__lt=before)
    return ApiToken.objects.filter(dead).delete()[0]


RULES = [
    Rule("KEEP_TRAIL_DAYS", trail_lines, "lines of the trail"),
    Rule("KEEP_ADDRESSES_DAYS", trail_addresses, "addresses in the trail"),
    Rule("KEEP_TOKENS_DAYS", dead_tokens, "tokens that were revoked or ended"),
]


def apply() -> None:
    now = timezone.now()
    for rule in RULES:
        days = getattr(settings, rule.setting)
        if days and (gone := rule.removes(now - datetime.timedelta(days=days))):
            logger.info("%s %s were removed after %s days", gone, rule.what, days)
    remove_ended_sessions()
    if gone := offers.remove_old():
        logger.info("%s offers of roles that nobody accepted were removed", gone)


def remove_ended_sessions() -> None:
    """Of a session that is no more, its address and browser too: they are listed for as long as
    its owner can end it."""
    living = Session.objects.filter(session_key=OuterRef("session_key"))
    # A sign-in lists its session before it is stored.
    settled = timezone.now() - datetime.timedelta(minutes=10)
    ended = UserSession.objects.filter(~Exists(living), last_seen_at__lt=settled)
    gone = ended.delete()[0]
    if gone:
        logger.info("%s sessions that had ended were taken off the lists", gone)

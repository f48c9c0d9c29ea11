"""A person's choice of mail, and links that end a subscription without signing in (RFC 8058).

By default, leads and adjudicators get a weekly digest on Monday morning, and leads also get a mail
when a rater drifts. Others have nothing to decide, so they get a digest only when they want one.

A link is signed for one person and subscription. It stays valid: mail is kept for years.
"""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agreement_site.models import NotificationSettings, Preference
from core.text import lower_first
from core.web.links import build_absolute_url
from projects.models import Member
from projects.models.roles import Capability, list_roles_with

from .news import DRIFT, get_last_event_number

Digest = NotificationSettings.Digest
PEOPLE_PER_TRANSACTION = 500  # people in one transaction


def get_preferences(user: Any) -> NotificationSettings:
    """Return the user's notification settings; unsaved defaults where none are stored yet."""
    row = NotificationSettings.objects.filter(user=user.pk).first()
    return row or _build_defaults([user.pk])[0]


@transaction.atomic
def save_preferences(*, user: Any, **changes: Any) -> NotificationSettings:
    """Store a user's choice, and the time of the next digest.

    A digest that was off before reports only events from now on.
    """
    row = NotificationSettings.objects.select_for_update().filter(user=user.pk).first()
    is_new = row is None
    row = row or _build_defaults([user.pk])[0]
    was_off = is_new or row.digest == Digest.OFF
    for name, value in changes.items():
        setattr(row, name, value)
    if row.digest == Digest.OFF:
        row.next_digest_at = None
    else:
        row.next_digest_at = compute_next_digest(row, timezone.now())
        if was_off:
            row.digest_event = get_last_event_number()
    row.save()
    return row


def create_missing_settings() -> int:
    """Store default settings of users with an address who review in a project and have none.

    Returns the number of rows.
    """
    deciding = Member.objects.filter(
        user=OuterRef("pk"), role__in=list_roles_with(Capability.REVIEW)
    )
    users = User.objects.filter(
        Exists(deciding), is_active=True, notification_settings=None
    ).exclude(email="")
    n_created = 0
    while ids := list(users.order_by("pk").values_list("pk", flat=True)[:PEOPLE_PER_TRANSACTION]):
        # Another worker may be creating the same ones.
        NotificationSettings.objects.bulk_create(_build_defaults(ids), ignore_conflicts=True)
        n_created += len(ids)
    return n_created


def _build_defaults(user_ids: list[int]) -> list[NotificationSettings]:
    """Build unsaved default settings of these users, in the same order."""
    memberships = Member.objects.filter(user__in=user_ids).order_by("pk")
    roles: dict[int, set[str]] = {}
    zones: dict[int, str] = {}
    for user_id, role, zone in memberships.values_list("user", "role", "project__time_zone"):
        roles.setdefault(user_id, set()).add(role)
        zones.setdefault(user_id, zone)
    rows, head, now = [], get_last_event_number(), timezone.now()
    managing, reviewing = map(list_roles_with, (Capability.MANAGE, Capability.REVIEW))
    for user_id in user_ids:
        own_roles = roles.get(user_id, set())
        row = NotificationSettings(
            user_id=user_id,
            at_once=[DRIFT] if own_roles.intersection(managing) else [],
            digest=Digest.WEEKLY if own_roles.intersection(reviewing) else Digest.OFF,
            time_zone=zones.get(user_id, settings.TIME_ZONE),
            digest_event=head,
        )
        if row.digest != Digest.OFF:
            row.next_digest_at = compute_next_digest(row, now)
        rows.append(row)
    return rows


def compute_next_digest(row: NotificationSettings, after: datetime.datetime) -> datetime.datetime:
    """Return the first time after ``after`` at which a person's digest is due, in UTC.

    The hour is that of the person's time zone, before and after a change of its offset.
    """
    zone = ZoneInfo(row.time_zone)
    day = after.astimezone(zone).date()
    while True:
        due = datetime.datetime.combine(day, datetime.time(row.hour), tzinfo=zone)
        due = due.astimezone(datetime.UTC)
        if due > after and (row.digest == Digest.DAILY or day.weekday() == row.weekday):
            return due
        day += datetime.timedelta(days=1)


def get_language(user: Any, row: NotificationSettings) -> str:
    """Return the language of a person's mail: their choice, else that of their pages."""
    if row.language:
        return row.language
    preference = Preference.objects.filter(user=user.pk).first()
    return (preference.language if preference else "") or settings.LANGUAGE_CODE


_SALT = "notifications.unsubscribe"
DIGEST, NEWS, PERSONAL = "digest", "news", "personal"
# Subscription -> the settings that end it.
SETTINGS_WITHOUT: dict[str, dict[str, object]] = {
    DIGEST: {"digest": NotificationSettings.Digest.OFF},
    NEWS: {"at_once": []},
    PERSONAL: {"personal": False},
}
LABELS = {
    DIGEST: lower_first(_("Digest")),
    NEWS: _("project news"),
    PERSONAL: lower_first(_("Messages, pauses and new projects")),
}


def build_unsubscribe_url(user: Any, subscription: str) -> str:
    token = signing.dumps([user.pk, subscription], salt=_SALT)
    return build_absolute_url(reverse("unsubscribe", args=[token]))


def parse_unsubscribe_token(token: str) -> tuple[User, str] | None:
    """Return the user and the subscription that an unsubscribe link is for.

    None for a link that is not valid.
    """
    try:
        user_id, subscription = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=user_id).first()
    return (user, subscription) if user is not None and subscription in SETTINGS_WITHOUT else None


def end_subscription(user: User, subscription: str) -> None:
    """Change the user's settings so that this subscription ends; a second time has no effect."""
    save_preferences(user=user, **SETTINGS_WITHOUT[subscription])

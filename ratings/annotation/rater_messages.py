"""Messages from leads to raters: who can read one, writing it, and having read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_nul
from events.services import record
from projects.models import Member, Rater
from projects.permissions import ROLES_ALLOWED
from ratings.models import RaterMessage

LONGEST = 2_000


class Refused(ValueError):
    """It cannot be sent; the message says why."""


def readers(raters: Iterable[Rater]) -> list[Rater]:
    """Those of the raters who come to the desk: people whose account may rate in the project."""
    member = Member.objects.filter(
        project=OuterRef("project"),
        user=OuterRef("user"),
        role__in=ROLES_ALLOWED[Member.Role.ANNOTATOR],
    )
    rows = Rater.objects.filter(pk__in=[rater.pk for rater in raters], kind=Rater.Kind.HUMAN)
    rows = rows.filter(Exists(member) | Q(user__is_superuser=True), user__is_active=True)
    return list(rows.order_by("key"))


@transaction.atomic
def write(*, raters: Sequence[Rater], text: str, by: Any) -> list[RaterMessage]:
    """Write the same to each of the raters. Whoever has not read the same yet does not get it
    twice. Raises Refused.

    Trail and event name the message, not its text: when a person is forgotten, it is gone.
    """
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise Refused(_("Write something first."))
    if len(text) > LONGEST or has_nul(text):
        raise Refused(_("%(n)s characters at most, and no NUL") % {"n": LONGEST})
    if not raters:
        raise Refused(_("None of the chosen raters can read it."))
    unread = RaterMessage.objects.filter(rater__in=raters, text=text, read_at=None)
    have_it = set(unread.values_list("rater_id", flat=True))
    return [_write(rater, text, by) for rater in raters if rater.pk not in have_it]


def _write(rater: Rater, text: str, by: Any) -> RaterMessage:
    made = RaterMessage.objects.create(rater=rater, text=text, by=by, at=timezone.now())
    security_log.event(
        "rater_written_to",
        project_id=rater.project_id,
        by=by.pk,
        rater=rater.pk,
        after={"rater": rater.key, "message": made.pk},
    )
    record(
        project_id=rater.project_id,
        kind="rater_message",
        subject=f"rater/{rater.pk}",
        data={"rater": rater.key, "message": made.pk},
        by=by,
    )
    return made


def mark_read(*, rater: Rater, message_id: int) -> bool:
    """The rater says that they read it; the first time counts. False: there is none for them."""
    found = RaterMessage.objects.filter(rater=rater, pk=message_id)
    return bool(found.filter(read_at=None).update(read_at=timezone.now())) or found.exists()

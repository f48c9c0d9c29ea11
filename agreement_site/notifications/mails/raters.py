"""Mail to a rater: a message from a lead, and a pause."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from agreement_site.models import NotificationSettings, QueuedMail
from core.web.links import build_absolute_url
from projects.models import Rater
from ratings.annotation import rater_messages
from ratings.models import RaterMessage

from .content import Line, MailContent


def compose_message(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the mail with a lead's message, unless the rater has read it on the page already."""
    messages = RaterMessage.objects.filter(pk=mail.message_id or 0, rater__user=mail.user_id)
    message = messages.filter(read_at=None).select_related("rater", "sender").first()
    if message is None or not _can_read(message.rater):
        return None
    project: Any = mail.project
    sender = message.sender_name or _("A lead")
    values = {"by": sender, "project": project.name}
    return MailContent(
        _("Message about “%(project)s”") % values,
        (_("%(by)s wrote to you about the project “%(project)s”:") % values,),
        quote=message.text,
        action=_build_action(mail),
    )


def compose_pause(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the mail about a pause, unless the rater was resumed, or paused again, meanwhile."""
    raters = Rater.objects.filter(project=mail.project_id, user=mail.user_id, paused=True)
    rater = raters.first()
    later = QueuedMail.objects.filter(
        kind=mail.kind, user=mail.user_id, project=mail.project_id, pk__gt=mail.pk
    )
    if rater is None or not _can_read(rater) or later.exists():
        return None
    project: Any = mail.project
    reason = _("Your lead paused your rating. Your ratings are kept.")
    if rater.gold_notice == Rater.GoldNotice.PAUSED:
        reason = _(
            "Too many known answers were wrong. Your ratings are kept; your lead will decide."
        )
    return MailContent(
        _("You're paused in “%(project)s”") % {"project": project.name},
        (
            _("You're paused in the project “%(project)s”.") % {"project": project.name},
            reason,
            _("Your lead can tell you more."),
        ),
        action=_build_action(mail),
    )


def _can_read(rater: Rater) -> bool:
    return bool(rater_messages.list_readers([rater]))


def _build_action(mail: QueuedMail) -> Line:
    url = build_absolute_url(reverse("rate", args=[mail.project_id]))
    return Line(_("Open project"), url)

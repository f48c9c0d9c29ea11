"""Mail that is sent at once: new alerts and failed gates of one project."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications.news import NEWS_EVENTS, list_wanted_events
from core.web.site_address import build_absolute_url
from events import feed
from metrics.views.common.number_formats import format_count

from . import changes
from .content import Line, MailContent, Section

MAX_LINES = 20


def compose_news(mail: QueuedMail, row: NotificationSettings) -> MailContent | None:
    """Return the mail about the wanted events that the person may see; None without any."""
    project: Any = mail.project
    if project.archived_at is not None:
        return None
    kinds = list_wanted_events(row.at_once, "lead") & set(NEWS_EVENTS)
    events = feed.get_user_feed(mail.user, project_id=project.pk).filter(
        number__gt=mail.after_event, number__lte=mail.until_event, kind__in=kinds
    )
    lines = changes.describe_changes(list(events), only_open=True)
    if not lines:
        return None
    n = len(lines)
    subject = _("%(project)s: %(text)s") % {"project": project.name, "text": lines[0].text}
    if n > 1:
        subject = ngettext(
            "%(project)s: %(n)s new alert or failed gate",
            "%(project)s: %(n)s new alerts or failed gates",
            n,
        ) % {"project": project.name, "n": format_count(n)}
    return MailContent(
        subject,
        sections=(Section(project.name, tuple(lines[:MAX_LINES])),),
        action=Line(
            _("Open inbox"), build_absolute_url(f"{changes.INBOX_PATH}?project={project.pk}")
        ),
    )

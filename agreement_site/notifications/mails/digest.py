"""The digest, and mails of events at once.

The digest says what to do first, what changed since the last one, and which raters to check.
Decisions are the rows of the page Inbox, in its order and with its number; raters those of the page
Raters. So mail and pages never disagree.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications.news import NEWS_EVENTS, list_wanted_events
from core.web.site_address import build_absolute_url
from events import feed
from metrics.views.common.number_formats import format_count
from quality.inbox import rows
from quality.rater_status import site_raters
from quality.rater_status.status import RaterStatus

from ..mails import changes
from .content import Line, MailContent, Section

MAX_NEWS_LINES = 20


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
        sections=(Section(project.name, tuple(lines[:MAX_NEWS_LINES])),),
        action=Line(
            _("Open inbox"), build_absolute_url(f"{changes.INBOX_PATH}?project={project.pk}")
        ),
    )


MAX_DECISIONS = 10
MAX_PROJECTS = 20
MAX_CHANGES = 8  # lines of a project
MAX_RATERS = 5
MAX_EVENTS = 2_000  # the newest ones


def compose_digest(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the digest of a person; None where there is nothing to decide and nothing changed."""
    user = mail.user
    scope = rows.InboxScope.for_user(user)
    size = rows.count_rows(scope)
    sections = [
        *_list_decisions(scope, size),
        *_list_raters(user),
        *_list_changes(user, mail.after_event, mail.until_event),
    ]
    if not sections:
        return None
    subject = _("What changed")
    if size.n_rows:
        subject = ngettext(
            "%(n)s decision waits for you", "%(n)s decisions wait for you", size.n_rows
        ) % {"n": format_count(size.n_rows)}
    return MailContent(
        subject,
        sections=tuple(sections),
        action=Line(_("Open inbox"), build_absolute_url(str(changes.INBOX_PATH))),
    )


def _list_decisions(scope: rows.InboxScope, size: rows.InboxSize) -> list[Section]:
    stored = list(rows.select_rows(scope).order_by(*rows.ORDER)[:MAX_DECISIONS])
    lines = [
        Line(row.text, build_absolute_url(row.url), row.project.name)
        for row in rows.describe_rows(stored)
    ]
    if size.n_rows > len(lines):
        lines.append(_build_more(size.n_rows - len(lines), str(changes.INBOX_PATH)))
    return [Section(_("What to do first"), tuple(lines))] if lines else []


def _list_raters(user: Any) -> list[Section]:
    """Return the raters whose status needs a look, worst first."""
    people = [
        person
        for person in site_raters.list_people(site_raters.query_results(user), "status")
        if person.status in (RaterStatus.ACT, RaterStatus.CHECK)
        and person.worst is not None
        and "paused" not in person.worst.entry.flags
    ]
    lines = []
    for person in people[:MAX_RATERS]:
        assert person.worst is not None
        project = person.worst.question.project
        url = reverse("rater", args=[project.pk, person.worst.entry.key])
        text = f"{person.name}: {person.exported_status}"
        lines.append(Line(text, build_absolute_url(url), project.name))
    if len(people) > len(lines):
        lines.append(_build_more(len(people) - len(lines), reverse("all_raters")))
    return [Section(_("Raters to check"), tuple(lines))] if lines else []


def _list_changes(user: Any, after: int, until: int) -> list[Section]:
    """Return what changed in each project, of the events between two numbers."""
    events = feed.get_user_feed(user).filter(
        number__gt=after,
        number__lte=until,
        kind__in=changes.CHANGE_KINDS,
        project__archived_at=None,
        project__is_example=False,
    )
    newest = list(events.select_related("project").order_by("-number")[:MAX_EVENTS])
    newest.sort(key=lambda event: (event.project.name, event.project_id, event.number))
    sections: list[Section] = []
    for project, own in groupby(newest, key=lambda event: event.project):
        lines = changes.describe_changes(list(own))
        if not lines or len(sections) == MAX_PROJECTS:
            continue
        own_lines = lines[-MAX_CHANGES:]
        if len(lines) > len(own_lines):
            own_lines.append(
                _build_more(len(lines) - len(own_lines), reverse("dashboard", args=[project.pk]))
            )
        title = _("What changed in “%(project)s”") % {"project": project.name}
        sections.append(Section(title, tuple(own_lines)))
    return sections


def _build_more(number: int, path: str) -> Line:
    text = _("%(n)s more") % {"n": format_count(number)}
    return Line(text, build_absolute_url(path))

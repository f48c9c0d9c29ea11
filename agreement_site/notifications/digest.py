"""The digest: what to do first, what changed since the last one, and which raters to check.

The entries are those of the page Inbox, in its order and with its number; the raters are those of
the page Raters. So mail and pages never disagree.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications.mail_contents import (
    CHANGE_KINDS,
    INBOX_PATH,
    Line,
    MailContent,
    Section,
    describe_changes,
)
from core.web.links import build_absolute_url
from events import feed
from metrics.views.common.number_formats import format_count
from quality.inbox import inbox_entries
from quality.rater_status import raters_of_led_projects
from quality.rater_status.reasons import RaterStatus

MAX_ENTRIES = 10
MAX_PROJECTS = 20
MAX_CHANGES = 8  # lines of a project
MAX_RATERS = 5
MAX_EVENTS = 2_000  # the newest ones


def compose_digest(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Compose the digest of a person; None if the inbox is empty and there is nothing to report."""
    user = mail.user
    scope = inbox_entries.InboxScope(user)
    size = inbox_entries.count_entries(scope)
    raters = _list_raters(user)
    changes = _list_changes(user, mail.after_event, mail.until_event)
    sections = [*_build_inbox_sections(scope, size), *raters, *changes]
    if not sections:
        return None
    subject = _("What changed") if changes else _("Raters to check")
    if size.n_entries:
        subject = ngettext(
            "%(n)s entry in your inbox", "%(n)s entries in your inbox", size.n_entries
        ) % {"n": format_count(size.n_entries)}
    return MailContent(
        subject,
        sections=tuple(sections),
        action=Line(_("Open inbox"), build_absolute_url(str(INBOX_PATH))),
    )


def _build_inbox_sections(
    scope: inbox_entries.InboxScope, size: inbox_entries.InboxSize
) -> list[Section]:
    stored = inbox_entries.read_entries(scope, MAX_ENTRIES)
    lines = [
        Line(row.text, build_absolute_url(row.url), row.project.name)
        for row in inbox_entries.load_entries(stored, scope)
    ]
    if size.n_entries > len(lines):
        lines.append(_build_more_line(size.n_entries - len(lines), str(INBOX_PATH)))
    return [Section(_("What to do first"), tuple(lines))] if lines else []


def _list_raters(user: Any) -> list[Section]:
    """Return one section with the active raters to check, worst first; none without such raters."""
    people = [
        person
        for person in raters_of_led_projects.list_people(
            raters_of_led_projects.query_results(user), "status"
        )
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
        lines.append(_build_more_line(len(people) - len(lines), reverse("all_raters")))
    return [Section(_("Raters to check"), tuple(lines))] if lines else []


def _list_changes(user: Any, after: int, until: int) -> list[Section]:
    """Return a section for each project with events that the digest reports.

    These have numbers above ``after`` and up to ``until``.
    """
    events = feed.get_user_feed(user).filter(
        number__gt=after,
        number__lte=until,
        kind__in=CHANGE_KINDS,
        project__archived_at=None,
        project__is_example=False,
    )
    newest = list(events.select_related("project").order_by("-number")[:MAX_EVENTS])
    newest.sort(key=lambda event: (event.project.name, event.project_id, event.number))
    sections: list[Section] = []
    for project, own in groupby(newest, key=lambda event: event.project):
        lines = describe_changes(list(own))
        if not lines or len(sections) == MAX_PROJECTS:
            continue
        own_lines = lines[-MAX_CHANGES:]
        if len(lines) > len(own_lines):
            own_lines.append(
                _build_more_line(
                    len(lines) - len(own_lines), reverse("dashboard", args=[project.pk])
                )
            )
        title = _("What changed in “%(project)s”") % {"project": project.name}
        sections.append(Section(title, tuple(own_lines)))
    return sections


def _build_more_line(number: int, path: str) -> Line:
    text = _("and %(n)s more") % {"n": format_count(number)}
    return Line(text, build_absolute_url(path))

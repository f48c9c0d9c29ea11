"""The digest, and mails of events at once.

The digest says what to do first, what changed since the last one, and which raters to check.
Decisions are the rows of the page Inbox, in its order and with its number; raters those of the page
Raters. So mail and pages never disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications.mail_contents import Line, MailContent, Section
from agreement_site.notifications.news import NEWS_EVENTS, get_wanted_events
from core.text import parse_id
from core.web.links import build_absolute_url
from events import feed
from events.models import Event
from metrics.views.common.number_formats import format_count
from projects.models import Rater
from quality.alerts.kinds import KINDS
from quality.gates import verdict_texts
from quality.inbox import decision_rows
from quality.models import Alert, AlertState, Gate, GateDecision
from quality.rater_status import site_raters
from quality.rater_status.reasons import RaterStatus

INBOX_PATH = reverse_lazy("inbox")
ALERT_KINDS = ("alert.opened", "alert.resolved", "rater.drifted", "question.fell")
GATE_VERDICTS = {
    "gate.passed": GateDecision.PASS,
    "gate.failed": GateDecision.FAIL,
    "gate.not_enough": GateDecision.NOT_ENOUGH,
}
RATER_KINDS = ("rater.paused", "rater.resumed")
CHANGE_KINDS = (*ALERT_KINDS, *GATE_VERDICTS, *RATER_KINDS)


def describe_changes(events: Sequence[Event], *, only_open: bool = False) -> list[Line]:
    """Return a line for each thing that changed, by its last event; the oldest first.

    Verdicts of gates that have another one by now are left out, and of gates that were deleted.
    ``only_open``: alerts that somebody has answered meanwhile are left out, too.
    """
    last: dict[str, Event] = {event.subject: event for event in events}
    alerts = (
        Alert.objects.defer("chart")
        .select_related("question__project", "rater", "other_rater")
        .in_bulk([event.data["alert"] for event in last.values() if event.kind in ALERT_KINDS])
    )
    verdicts = _get_current_verdicts(last.values())
    lines = []
    for event in last.values():
        if event.kind in ALERT_KINDS:
            alert = alerts.get(event.data["alert"])
            if alert is not None and not (only_open and alert.state != AlertState.OPEN):
                lines.append(_describe_alert(alert, marks_new=not only_open))
        elif event.kind in GATE_VERDICTS:
            if verdicts.get(_parse_gate_id(event)) == GATE_VERDICTS[event.kind]:
                lines.append(_describe_gate(event))
        elif (line := _describe_rater(event)) is not None:
            lines.append(line)
    return lines


def _describe_alert(alert: Alert, *, marks_new: bool) -> Line:
    sentence = str(KINDS[alert.kind].sentence(alert))
    if alert.state == AlertState.RESOLVED:
        sentence = _("Resolved: %(alert)s") % {"alert": sentence}
    elif marks_new:
        sentence = _("New: %(alert)s") % {"alert": sentence}
    if not alert.supported:
        sentence = f"{sentence} {_('Later ratings would no longer raise this alert.')}"
    url = reverse("alert", args=[alert.question.project_id, alert.pk])
    return Line(sentence, build_absolute_url(url), str(alert.question))


def _get_current_verdicts(events: Iterable[Event]) -> dict[int, str]:
    """Return {gate id: its verdict by now} of the gates of these events that still exist."""
    gate_ids = [_parse_gate_id(event) for event in events if event.kind in GATE_VERDICTS]
    return dict(Gate.objects.filter(pk__in=gate_ids).values_list("pk", "verdict"))


def _parse_gate_id(event: Event) -> int:
    return parse_id(event.subject.partition("/")[2]) or 0


def _describe_gate(event: Event) -> Line:
    document = {**event.data, "verdict": GATE_VERDICTS[event.kind].value}
    url = build_absolute_url(reverse("gates", args=[event.project_id]))
    return Line(verdict_texts.describe_verdict(document), url)


def _describe_rater(event: Event) -> Line | None:
    raters = Rater.objects.filter(project=event.project_id, key=event.data["rater"])
    rater = raters.first()
    if rater is None:  # renamed or deleted since
        return None
    template = _("%(rater)s is paused") if rater.paused else _("%(rater)s is active again")
    url = reverse("rater", args=[event.project_id, rater.key])
    return Line(template % {"rater": rater}, build_absolute_url(url))


MAX_NEWS_LINES = 20


def compose_news(mail: QueuedMail, row: NotificationSettings) -> MailContent | None:
    """Return the mail about the wanted events that the person may see; None without any."""
    project: Any = mail.project
    if project.archived_at is not None:
        return None
    kinds = get_wanted_events(row.at_once, "lead") & set(NEWS_EVENTS)
    events = feed.get_user_feed(mail.user, project_id=project.pk).filter(
        number__gt=mail.after_event, number__lte=mail.until_event, kind__in=kinds
    )
    lines = describe_changes(list(events), only_open=True)
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
        action=Line(_("Open inbox"), build_absolute_url(f"{INBOX_PATH}?project={project.pk}")),
    )


MAX_DECISIONS = 10
MAX_PROJECTS = 20
MAX_CHANGES = 8  # lines of a project
MAX_RATERS = 5
MAX_EVENTS = 2_000  # the newest ones


def compose_digest(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the digest of a person; None where there is nothing to decide and nothing changed."""
    user = mail.user
    scope = decision_rows.InboxScope.for_user(user)
    size = decision_rows.count_rows(scope)
    raters = _list_raters(user)
    changes = _list_changes(user, mail.after_event, mail.until_event)
    sections = [*_list_decisions(scope, size), *raters, *changes]
    if not sections:
        return None
    subject = _("What changed") if changes else _("Raters to check")
    if size.n_rows:
        subject = ngettext(
            "%(n)s decision waits for you", "%(n)s decisions wait for you", size.n_rows
        ) % {"n": format_count(size.n_rows)}
    return MailContent(
        subject,
        sections=tuple(sections),
        action=Line(_("Open inbox"), build_absolute_url(str(INBOX_PATH))),
    )


def _list_decisions(
    scope: decision_rows.InboxScope, size: decision_rows.InboxSize
) -> list[Section]:
    stored = list(decision_rows.select_rows(scope).order_by(*decision_rows.ORDER)[:MAX_DECISIONS])
    lines = [
        Line(row.text, build_absolute_url(row.url), row.project.name)
        for row in decision_rows.describe_rows(stored, scope)
    ]
    if size.n_rows > len(lines):
        lines.append(_build_more_line(size.n_rows - len(lines), str(INBOX_PATH)))
    return [Section(_("What to do first"), tuple(lines))] if lines else []


def _list_raters(user: Any) -> list[Section]:
    """Return a section of the active raters with the status act or check, worst first."""
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
        lines.append(_build_more_line(len(people) - len(lines), reverse("all_raters")))
    return [Section(_("Raters to check"), tuple(lines))] if lines else []


def _list_changes(user: Any, after: int, until: int) -> list[Section]:
    """Return a section for each project, of the events after one number and up to another."""
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
    text = _("%(n)s more") % {"n": format_count(number)}
    return Line(text, build_absolute_url(path))

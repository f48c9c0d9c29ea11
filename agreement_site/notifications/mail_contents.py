"""Contents of mails without their form: both the text and the HTML are rendered from them.

Invitations, offers of a role, messages and pauses of raters, and news of events. The digest, which
shows the same lines about events, is in ``digest``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications.news import get_wanted_events
from core.text import parse_id
from core.web.links import build_absolute_url
from events import feed
from events.models import Event
from metrics.views.common.number_formats import format_count
from projects.models import Member, Project, Rater
from projects.models.roles import Capability, may
from projects.services import joining, membership
from quality.alerts.kinds import KINDS
from quality.gates import verdict_texts
from quality.models import Alert, AlertState, Gate, VerdictValue
from ratings.annotation import rater_messages
from ratings.models import RaterMessage

INBOX_PATH = reverse_lazy("inbox")


@dataclass(frozen=True)
class Line:
    """A line of a list. ``note`` is shown beside its text; ``url`` is absolute, or empty."""

    text: str
    url: str = ""
    note: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class MailContent:
    """The content of a mail: paragraphs, a text quoted from a person, lists, and a main link.

    ``is_first``: the recipient cannot sign in yet, and so not change the settings.
    """

    subject: str
    paragraphs: tuple[str, ...] = ()
    quote: str = ""
    sections: tuple[Section, ...] = ()
    action: Line | None = None
    is_first: bool = False


def compose_invitation(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Compose the mail to a new member; with a link to choose a password for a new account.

    None if the person is no member any more, the project is archived, or their address is unknown.
    The link is created when the mail is sent, so that it is not stored in the queue. Using a mailed
    link also confirms the address.
    """
    member = Member.objects.filter(project=mail.project_id, user=mail.user_id).first()
    project: Any = mail.project
    if member is None or project.archived_at is not None:
        return None
    values = _build_values(mail, project)
    subject = _("Invitation to “%(project)s”") % values
    intro = _("%(by)s added you to “%(project)s” as %(role)s.") % {
        **values,
        "role": member.get_role_display(),
    }
    by = mail.by or User()
    if mail.by_id and mail.user_id in membership.get_linkable_user_ids(project=project, by=by):
        path = joining.create_invitation_path(member, address=mail.address)
        account = _("Choose a password for your account %(name)s.")
        return MailContent(
            subject,
            (
                intro,
                account % {"name": mail.user.get_username()},
                _("The link works once, for 3 days."),
            ),
            action=Line(_("Set password"), build_absolute_url(path)),
            is_first=True,
        )
    if not mail.user.email:
        return None  # the address of the invitation was never confirmed
    page = "dashboard" if may(member.role, Capability.SEE_RESULTS) else "rate"
    action = Line(_("Open project"), build_absolute_url(reverse(page, args=[project.pk])))
    return MailContent(subject, (intro,), action=action)


def compose_offer(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Compose the mail about an offered role; None if the offer is not open any more."""
    offer = joining.list_open_offers(mail.user).filter(project=mail.project_id).first()
    project: Any = mail.project
    if offer is None:
        return None
    values = _build_values(mail, project)
    text = _("%(by)s invites you to “%(project)s” as %(role)s.")
    return MailContent(
        _("Invitation to “%(project)s”") % values,
        (
            text % {**values, "role": offer.get_role_display()},
            _("Accept or decline in your account."),
        ),
        action=Line(_("See invitation"), build_absolute_url(reverse("projects"))),
    )


def _build_values(mail: QueuedMail, project: Project) -> dict[str, str]:
    by = mail.by.get_full_name() or mail.by.get_username() if mail.by else _("A lead")
    return {"by": by, "project": project.name}


def compose_message(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Compose the mail with a lead's message; None if the rater has read it on the page or left."""
    messages = RaterMessage.objects.filter(pk=mail.message_id or 0, rater__user=mail.user_id)
    message = messages.filter(read_at=None).select_related("rater", "sender").first()
    if message is None or not _can_read(message.rater):
        return None
    project: Any = mail.project
    sender = message.sender_name or _("A lead")
    values = {"by": sender, "project": project.name}
    return MailContent(
        _("Message about “%(project)s”") % values,
        (_("%(by)s wrote:") % values,),
        quote=message.text,
        action=_build_action_line(mail),
    )


def compose_pause(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Compose the mail about a pause; None if the rater was resumed or paused again since."""
    raters = Rater.objects.filter(project=mail.project_id, user=mail.user_id, paused=True)
    rater = raters.first()
    later = QueuedMail.objects.filter(
        kind=mail.kind, user=mail.user_id, project=mail.project_id, pk__gt=mail.pk
    )
    if rater is None or not _can_read(rater) or later.exists():
        return None
    project: Any = mail.project
    reason = _("Your lead paused you.")
    if rater.gold_notice == Rater.GoldNotice.PAUSED:
        reason = _("Too many known answers were wrong.")
    return MailContent(
        _("You're paused in “%(project)s”") % {"project": project.name},
        (f"{reason} {_('Your ratings are kept.')}", _("Ask your lead for details.")),
        action=_build_action_line(mail),
    )


def _can_read(rater: Rater) -> bool:
    return bool(rater_messages.list_readers([rater]))


def _build_action_line(mail: QueuedMail) -> Line:
    url = build_absolute_url(reverse("rate", args=[mail.project_id]))
    return Line(_("Open project"), url)


# --- events, as news and in the digest

ALERT_KINDS = ("alert.opened", "alert.resolved", "rater.drifted", "question.fell")
GATE_VERDICTS = {
    "gate.passed": VerdictValue.PASS,
    "gate.failed": VerdictValue.FAIL,
    "gate.not_enough": VerdictValue.NOT_ENOUGH,
}
RATER_KINDS = ("rater.paused", "rater.resumed")
# Kinds of events with a line in mail; each has its case in `describe_changes`.
CHANGE_KINDS = (*ALERT_KINDS, *GATE_VERDICTS, *RATER_KINDS)


def describe_changes(events: Sequence[Event], *, only_open: bool = False) -> list[Line]:
    """Return one line for each subject of the events, about its last event; oldest first.

    Left out are verdicts that differ from the gate's current one, and gates, alerts and raters that
    do not exist any more. ``only_open``: leave out alerts that are not open any more, too.
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
        elif event.kind in RATER_KINDS and (line := _describe_rater(event)) is not None:
            lines.append(line)
    return lines


def _describe_alert(alert: Alert, *, marks_new: bool) -> Line:
    sentence = str(KINDS[alert.kind].sentence(alert))
    if alert.state == AlertState.RESOLVED:
        sentence = _("Resolved: %(alert)s") % {"alert": sentence}
    elif marks_new:
        sentence = _("New: %(alert)s") % {"alert": sentence}
    if not alert.supported:
        sentence = f"{sentence} {_('Later ratings wouldn’t raise this alert.')}"
    url = reverse("alert", args=[alert.question.project_id, alert.pk])
    return Line(sentence, build_absolute_url(url), str(alert.question))


def _get_current_verdicts(events: Iterable[Event]) -> dict[int, str]:
    """Return {gate id: current verdict} of the gates of these events that still exist."""
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
    """Compose the mail about events that the person chose and may see; None if there are none."""
    project: Any = mail.project
    if project.archived_at is not None:
        return None
    events = feed.get_user_feed(mail.user, project_id=project.pk).filter(
        number__gt=mail.after_event,
        number__lte=mail.until_event,
        kind__in=get_wanted_events(row.at_once),
    )
    lines = describe_changes(list(events), only_open=True)
    if not lines:
        return None
    n = len(lines)
    subject = _("%(what)s: %(value)s") % {"what": project.name, "value": lines[0].text}
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

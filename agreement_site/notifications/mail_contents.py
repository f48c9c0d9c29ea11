"""Contents of mails without their form: both the text and the HTML are rendered from them.

Here are those to people whom a lead added to a project, or to whom a role was offered, and to
raters: a message from a lead, and a pause. The digest is in ``digest``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from agreement_site.models import NotificationSettings, QueuedMail
from core.web.links import build_absolute_url
from projects.models import Member, Project, Rater
from projects.services.members import joining, membership
from ratings.annotation import rater_messages
from ratings.models import RaterMessage


@dataclass(frozen=True)
class Line:
    """A line of a list; ``note`` is beside it, ``url`` is absolute or empty."""

    text: str
    url: str = ""
    note: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class MailContent:
    """A mail: paragraphs, what a person wrote, lists under headings, and where to go first.

    ``is_first``: the recipient cannot sign in yet.
    """

    subject: str
    paragraphs: tuple[str, ...] = ()
    quote: str = ""
    sections: tuple[Section, ...] = ()
    action: Line | None = None
    is_first: bool = False


def compose_invitation(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the mail to a new member; with a link to choose a password for a new account.

    The link is created when the mail is sent, so that it is not stored in the queue. Using a mailed
    link also confirms the address.
    """
    member = Member.objects.filter(project=mail.project_id, user=mail.user_id).first()
    project: Any = mail.project
    if member is None or project.archived_at is not None:
        return None
    values = _build_values(mail, project)
    subject = _("Invitation to “%(project)s”") % values
    intro = _("%(by)s added you to the project “%(project)s” as %(role)s.") % {
        **values,
        "role": member.get_role_display(),
    }
    by = mail.by or User()
    if mail.by_id and mail.user_id in membership.get_linkable_user_ids(project=project, by=by):
        path = joining.create_invitation_path(member, address=mail.address)
        account = _("Your account is %(name)s. Choose a password.")
        return MailContent(
            subject,
            (
                intro,
                account % {"name": mail.user.get_username()},
                _("It works once and expires in 3 days."),
            ),
            action=Line(_("Choose password"), build_absolute_url(path)),
            is_first=True,
        )
    if not mail.user.email:
        return None  # the address of the invitation was never confirmed
    page = "rate" if member.role == Member.Role.ANNOTATOR else "dashboard"
    action = Line(_("Open project"), build_absolute_url(reverse(page, args=[project.pk])))
    return MailContent(subject, (intro,), action=action)


def compose_offer(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the mail about an offer that the owner of the account may accept."""
    offer = joining.list_open_offers(mail.user).filter(project=mail.project_id).first()
    project: Any = mail.project
    if offer is None:
        return None
    values = _build_values(mail, project)
    text = _("%(by)s invites you to the project “%(project)s” as %(role)s.")
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

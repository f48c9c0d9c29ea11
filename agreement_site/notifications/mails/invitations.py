"""Mail to people whom a lead added to a project, or to whom a role was offered."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from agreement_site.models import NotificationSettings, QueuedMail
from core.web.links import build_absolute_url
from projects.models import Member, Project
from projects.services.members import invitation_links, joining, membership

from .content import Line, MailContent


def compose_invitation(mail: QueuedMail, _row: NotificationSettings) -> MailContent | None:
    """Return the mail to a new member; with a link to choose a password for a new account.

    The link is made now, so that no queue keeps it. The one in a mail also proves the address.
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
        path = invitation_links.create_invitation_path(member, address=mail.address)
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

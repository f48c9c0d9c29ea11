"""`manage.py person_data`: export or remove all stored data about a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import ProtectedError

from agreement_site.models import AuditLogEntry, NotificationSettings, QueuedMail
from core import security_log
from projects import permissions
from projects.models import Deletion, Member, MemberOffer, Rater
from projects.permissions import get_leads, get_led_memberships
from ratings import personal_data
from ratings.items import removal


class Command(BaseCommand):
    help = (
        "Export or remove what is stored about a person in all projects: --export writes JSON "
        "Lines; --forget removes the account, and deletes the ratings or keeps them under a "
        "pseudonym. Prints how much was removed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        mode = parser.add_mutually_exclusive_group(required=True)
        mode.add_argument("--export", metavar="FILE", help="- for the standard output")
        mode.add_argument("--forget", choices=["everything", "person"], help="person: keep ratings")
        parser.add_argument("--keep-comments", action="store_true", help="with --forget person")
        parser.add_argument("--confirm", metavar="USERNAME", help="repeat the name, to forget")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account '{options['username']}'.")
        if options["export"]:
            _export_person(user, options["export"])
        else:
            self.stdout.write(json.dumps(_forget_person(user, options)))


def _list_raters(user: User) -> list[Rater]:
    return list(Rater.objects.filter(user=user).select_related("project", "user").order_by("pk"))


def _export_person(user: User, target: str) -> None:
    security_log.log_event(
        "person_exported", target_user_id=user.pk, before={"account": user.username}
    )
    if target == "-":
        for line in _iter_lines(user):
            sys.stdout.write(line.decode())
        return
    with Path(target).open("wb") as file:
        file.writelines(_iter_lines(user))


def _iter_lines(user: User) -> Iterator[bytes]:
    """Yield the account, its data in each project, and its audit log entries as JSON Lines."""
    account = {
        "account": user.username,
        "full_name": user.get_full_name(),
        "email": user.email,
        "joined": user.date_joined.isoformat(),
        "last_sign_in": user.last_login.isoformat() if user.last_login else None,
        "roles": {
            str(member.project_id): member.role for member in Member.objects.filter(user=user)
        },
        "role_offers": {
            str(offer.project_id): offer.role for offer in MemberOffer.objects.filter(user=user)
        },
    }
    yield (json.dumps(account | _collect_mail_data(user), ensure_ascii=False) + "\n").encode()
    for rater in _list_raters(user):
        yield from personal_data.iter_personal_data(rater)
    for entry in AuditLogEntry.objects.filter(actor_id=user.pk).order_by("pk").iterator():
        record = {
            "created_at": entry.created_at.isoformat(),
            "action": entry.action,
            "address": entry.address,
        }
        yield (json.dumps(record, ensure_ascii=False) + "\n").encode()


def _collect_mail_data(user: User) -> dict[str, object]:
    """Return what is stored about a person's mail; it is deleted with the account."""
    rows = NotificationSettings.objects.filter(user=user)
    names = ("at_once", "personal", "digest", "weekday", "hour", "time_zone", "language")
    mails = QueuedMail.objects.filter(user=user).order_by("pk")
    return {
        "notifications": rows.values(*names).first(),
        "mails": [
            {
                "kind": mail.kind,
                "project": mail.project_id,
                "address": mail.address,
                "state": mail.state,
                "created_at": mail.created_at.isoformat(),
            }
            for mail in mails
        ],
    }


def _forget_person(user: User, options: dict[str, Any]) -> dict[str, object]:
    """Remove the person's account and data; return how much was removed, for the output.

    ``options``: those of the command. Raises CommandError, and then has changed nothing.
    """
    if options["confirm"] != user.username:
        raise CommandError(f"To remove this person, add --confirm {user.username}.")
    _validate_removal(user)
    removed = []
    with transaction.atomic():
        for rater in _list_raters(user):
            removed.append({"project": rater.project_id, **_forget_rater(rater, options)})
        security_log.log_event(
            "account_removed",
            target_user_id=user.pk,
            how=options["forget"],
            before={"account": user.username},
        )
        try:
            MemberOffer.objects.filter(username=user.username).delete()
            user.delete()
        except ProtectedError as error:
            raise CommandError(f"The account cannot be removed: {error}") from None
    return {"account": "removed", "raters": removed}


def _validate_removal(user: User) -> None:
    """Raise CommandError for the only lead of a project, and under a legal hold."""
    leads = get_led_memberships(user)
    only_lead_of = [
        member.project_id
        for member in leads
        if not get_leads(member.project_id).exclude(user=user).exists()
    ]
    if only_lead_of:
        raise CommandError(
            f"They lead projects {', '.join(map(str, only_lead_of))} alone:"
            " another lead is needed first."
        )
    projects = {rater.project_id for rater in _list_raters(user)}
    held = [
        str(project_id)
        for project_id in sorted(projects)
        if permissions.is_under_legal_hold(project_id)
    ]
    if held or permissions.is_site_under_legal_hold():
        raise CommandError(f"Legal hold forbids it: LEGAL_HOLD={','.join(held) or 'all'}.")


def _forget_rater(rater: Rater, options: dict[str, Any]) -> dict[str, object]:
    if options["forget"] == "everything":
        deletion = removal.start_deletion(kind=Deletion.Kind.RATER, target=rater, by=None)
        return {"ratings": deletion.counts["ratings"], "pseudonym": None}
    pseudonymous = personal_data.pseudonymize_rater(
        rater=rater, by=None, comments=options["keep_comments"]
    )
    deletion_record = Deletion.objects.filter(kind=Deletion.Kind.PERSON, target=rater.pk).latest(
        "pk"
    )
    return {"ratings": deletion_record.counts["ratings"], "pseudonym": pseudonymous.key}

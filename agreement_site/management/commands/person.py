"""`manage.py person`: what is kept of a person in all projects: to be handed to them, or to be
forgotten."""

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

from agreement_site.models import TrailLine
from core import security_log
from projects.models import Deletion, Member, MemberOffer, Rater
from ratings.items import personal_data, purge


class Command(BaseCommand):
    help = (
        "What is kept of a person over all projects: --export writes it as JSON Lines; "
        "--forget removes the account, and what they said as chosen: erased, or kept under a "
        "pseudonym. Prints how much went."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--export", metavar="FILE", help="- for the standard output")
        what.add_argument("--forget", choices=["everything", "person"], help="person: ratings stay")
        parser.add_argument("--keep-comments", action="store_true", help="with --forget person")
        parser.add_argument("--confirm", metavar="USERNAME", help="the name again, to forget")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account '{options['username']}'.")
        if options["export"]:
            _export(user, options["export"])
        else:
            self.stdout.write(json.dumps(_forget(user, options)))


def _raters(user: User) -> list[Rater]:
    return list(Rater.objects.filter(user=user).select_related("project", "user").order_by("pk"))


def _export(user: User, target: str) -> None:
    security_log.event("person_exported", who=user.pk, before={"account": user.username})
    if target == "-":
        for line in _lines(user):
            sys.stdout.write(line.decode())
        return
    with Path(target).open("wb") as file:
        file.writelines(_lines(user))


def _lines(user: User) -> Iterator[bytes]:
    account = {
        "account": user.username,
        "full_name": user.get_full_name(),
        "email": user.email,
        "joined": user.date_joined.isoformat(),
        "last_sign_in": user.last_login.isoformat() if user.last_login else None,
        "roles": {
            str(member.project_id): member.role for member in Member.objects.filter(user=user)
        },
        "asked_to_join": {
            str(offer.project_id): offer.role for offer in MemberOffer.objects.filter(user=user)
        },
    }
    yield (json.dumps(account, ensure_ascii=False) + "\n").encode()
    for rater in _raters(user):
        yield from personal_data.lines(rater)
    for done in TrailLine.objects.filter(actor_id=user.pk).order_by("pk").iterator():
        told = {"at": done.at.isoformat(), "did": done.what, "address": done.address}
        yield (json.dumps(told, ensure_ascii=False) + "\n").encode()


def _forget(user: User, options: dict[str, Any]) -> dict[str, Any]:
    """How much goes. Raises CommandError, and then has changed nothing."""
    if options["confirm"] != user.username:
        raise CommandError(f"To forget them, say --confirm {user.username}.")
    leads = Member.objects.filter(user=user, role=Member.Role.LEAD)
    alone = [
        member.project_id
        for member in leads
        if not Member.objects.filter(project=member.project_id, role=Member.Role.LEAD)
        .exclude(user=user)
        .exists()
    ]
    if alone:
        raise CommandError(
            f"They lead projects {', '.join(map(str, alone))} alone: another lead is needed first."
        )
    found = []
    with transaction.atomic():
        for rater in _raters(user):
            found.append({"project": rater.project_id, **_forget_rater(rater, options)})
        security_log.event(
            "account_removed", who=user.pk, how=options["forget"], before={"account": user.username}
        )
        try:
            MemberOffer.objects.filter(username=user.username).delete()
            user.delete()
        except ProtectedError as error:
            raise CommandError(f"The account cannot go: {error}") from None
    return {"account": "removed", "raters": found}


def _forget_rater(rater: Rater, options: dict[str, Any]) -> dict[str, Any]:
    if options["forget"] == "everything":
        asked = purge.ask(kind=Deletion.Kind.RATER, target=rater, by=None)
        return {"ratings": asked.counts["ratings"], "kept_as": None}
    kept = personal_data.keep_under_pseudonym(
        rater=rater, by=None, comments=options["keep_comments"]
    )
    trace = Deletion.objects.filter(kind=Deletion.Kind.PERSON, target=rater.pk).latest("pk")
    return {"ratings": trace.counts["ratings"], "kept_as": kept.key}

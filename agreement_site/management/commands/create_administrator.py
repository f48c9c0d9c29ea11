"""`manage.py create_administrator NAME`: create another account with all rights."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from agreement_site.models import PasswordChangeRequired
from core import security_log
from projects.services.membership import reject_misleading_username


class Command(BaseCommand):
    help = (
        "Create an account with all rights and print its password, which is shown once and opens "
        "only the page to choose another one; or, with --existing, give all rights to an account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--email", default="", help="for links to a new password")
        parser.add_argument(
            "--existing", action="store_true", help="give the rights to an account that exists"
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        username, users = options["username"], get_user_model().objects
        user = users.filter(username=username).first()
        if options["existing"]:
            if user is None or not user.is_active:
                raise CommandError(f"There is no active account '{username}'.")
            before = {"is_staff": user.is_staff, "is_superuser": user.is_superuser}
            user.is_staff = user.is_superuser = True
            user.save(update_fields=["is_staff", "is_superuser"])
            log_rights("admin_changed", user, before)
            self.stdout.write(f"'{username}' has all rights now.")
            return
        if user is not None:
            raise CommandError(
                f"There is an account '{username}' already; --existing gives it all rights."
            )
        try:
            user = get_user_model()(username=username, email=options["email"])
            user.clean_fields(exclude=["password"])
            if user.email:
                validate_email(user.email)
            reject_misleading_username(username)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        password = secrets.token_urlsafe(15)
        user = users.create_superuser(username, user.email, password)
        PasswordChangeRequired.objects.create(user=user)
        log_rights("admin_added", user, {})
        self.stdout.write(f"Sign in as {username} with the password {password}")


def log_rights(event_type: str, user: Any, before: dict[str, bool]) -> None:
    """Log that an account has all rights now, like the admin site; ``before``: earlier rights."""
    security_log.log_event(
        event_type,
        model=user._meta.label,
        target=user.pk,
        name=user.get_username(),
        before=before,
        after={"is_staff": True, "is_superuser": True},
    )

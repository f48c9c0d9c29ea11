"""`manage.py first_sign_in`: on an empty site, the account to begin with."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from agreement_site.models import KnownPassword

USERNAME = "lead"


class Command(BaseCommand):
    help = (
        "Where nobody has an account yet, makes 'lead' with a password of its own, keeps the "
        "password in "
        "DATA_DIR/sign-in.txt (for its owner's eyes only) and says so. Later it only says "
        "where the password is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--show",
            action="store_true",
            help="print the password too: for a terminal, not for a log that is kept",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = settings.DATA_DIR / "sign-in.txt"
        password = make_first_user(path)
        if password and options["show"]:
            self.stdout.write(f"Sign in as {USERNAME} with the password in {path}: {password}")
        elif password:
            self.stdout.write(f"Sign in as {USERNAME} with the password in {path}")
        elif path.is_file():
            self.stdout.write(
                f"Sign in as {USERNAME}; unless it was changed, the password is in {path}"
            )
        else:
            self.stdout.write("Sign in with your account.")


@transaction.atomic
def make_first_user(path: Path) -> str:
    """Make the first account and return its password; empty where there is an account already.

    The password is on disc before the account is: a start that breaks off in between makes a new
    pair.
    """
    users = get_user_model()
    if users.objects.exists():
        return ""
    password = secrets.token_urlsafe(15)
    made = users.objects.create_superuser(USERNAME, password=password)
    if settings.HTTPS:  # a site that others reach; `make run` asks for nothing
        KnownPassword.objects.create(user=made)
    keep(path, password)
    return password


def keep(path: Path, password: str) -> None:
    """Write the file anew, readable by its owner alone from its first moment on."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{password}\n")
    part.replace(path)

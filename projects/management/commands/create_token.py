"""`manage.py create_token USERNAME`: create an API token, which is shown once."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from projects.models import ApiToken, Project
from projects.permissions import get_role
from projects.services import tokens


class Command(BaseCommand):
    help = (
        "Create an API token for a user and print it. It cannot be shown again: only its hash is"
        " stored."
    )

    requires_system_checks: list[str] = []  # they load all pages, and take longer than the command

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--project", type=int, metavar="ID", help="restrict the token to this project"
        )
        parser.add_argument(
            "--scope", choices=ApiToken.Scope.values, default=ApiToken.Scope.WRITE.value
        )
        parser.add_argument(
            "--days", type=int, metavar="N", help="days until the token expires (default: never)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        username, project_id, days = options["username"], options["project"], options["days"]
        user = get_user_model().objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user '{username}'.")
        project = None
        if project_id is not None:
            project = Project.objects.filter(pk=project_id).first()
            if project is None or get_role(project, user) is None:
                raise CommandError(f"'{username}' is no member of a project {project_id}.")
        expires_at = None
        if days is not None:
            if not 1 <= days <= 36_500:
                raise CommandError("--days is a number from 1 to 36500.")
            expires_at = timezone.now() + datetime.timedelta(days=days)
        self.stdout.write(
            tokens.create_token(
                user=user, project=project, scope=options["scope"], expires_at=expires_at
            )
        )

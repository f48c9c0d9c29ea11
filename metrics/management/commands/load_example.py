"""`manage.py load_example`: load two example projects with data for every page."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.example import example_projects


class Command(BaseCommand):
    help = "Load the example projects and count them. Existing ones are not loaded again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--owner", metavar="USERNAME", help="their lead; default: the first superuser"
        )

        parser.add_argument(
            "--worked",
            action="store_true",
            help="load the worked examples of texts on kappa instead, one small project each",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = get_owner(options["owner"])
        created = example_projects.create_missing_examples(owner=owner, worked=options["worked"])
        for project in created:
            self.stdout.write(
                f"Loaded '{project.name}' for {owner.get_username()}: /projects/{project.pk}/"
            )
        if not created:
            self.stdout.write(f"{owner.get_username()} has the example projects already.")


def get_owner(username: str | None) -> Any:
    """Return the active user with this name; the first superuser when ``username`` is None.

    Raises CommandError if there is none.
    """
    users = get_user_model().objects.filter(is_active=True)
    if username is not None:
        owner = users.filter(username=username).first()
        if owner is None:
            raise CommandError(f"There is no active user '{username}'.")
        return owner
    owner = users.filter(is_superuser=True).order_by("pk").first()
    if owner is None:
        raise CommandError(
            "There is no superuser yet: run create_first_user, or name the lead with --owner."
        )
    return owner

"""App configuration of projects."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"

    def ready(self) -> None:
        """Register the counter of gold answers that use a category."""
        from projects import hooks
        from projects.services import gold

        hooks.COUNT_IN_USE.register(gold.count_gold_uses)

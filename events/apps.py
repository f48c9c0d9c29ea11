"""App configuration: records events of projects."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    name = "events"

    def ready(self) -> None:
        from projects import hooks

        from . import services

        hooks.GUIDELINES_CHANGED.register(services.record_guidelines_change)
        hooks.RATER_PAUSED.register(services.record_pause_or_resume)

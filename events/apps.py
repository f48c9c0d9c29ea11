"""App configuration: records events of projects."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    name = "events"

    def ready(self) -> None:
        from projects import hooks

        from . import project_listeners

        hooks.GUIDELINES_CHANGED.register(project_listeners.record_guidelines_change)
        hooks.RATER_PAUSED.register(project_listeners.record_pause_or_resume)

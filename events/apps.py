"""App configuration: records events of projects."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    name = "events"

    def ready(self) -> None:
        from projects import hooks

        from . import project_listeners

        hooks.register_hooks(
            guidelines_changed=project_listeners.record_guidelines_change,
            rater_paused=project_listeners.record_pause_or_resume,
        )

"""App configuration: registers what happens to ratings when a project's settings change."""

from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from projects import hooks
        from ratings.services import project_listeners

        hooks.register(
            count_in_use=project_listeners.count_ratings_by_code,
            zone_changed=project_listeners.handle_zone_change,
            scale_changed=project_listeners.handle_scale_change,
        )

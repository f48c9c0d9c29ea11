from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from projects import hooks
        from ratings.services import project_listeners

        hooks.listen(
            count_in_use=project_listeners.count_in_use,
            zone_changed=project_listeners.zone_changed,
            scale_changed=project_listeners.scale_changed,
        )

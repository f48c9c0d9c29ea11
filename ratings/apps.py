from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from projects import hooks
        from ratings.recording import setup_changes

        hooks.listen(
            count_in_use=setup_changes.count_in_use,
            zone_changed=setup_changes.zone_changed,
            scale_changed=setup_changes.scale_changed,
        )

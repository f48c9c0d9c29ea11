from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from projects import changes
        from ratings.recording import setup_changes

        changes.listen(
            count_in_use=setup_changes.count_in_use,
            zone_changed=setup_changes.zone_changed,
            scale_changed=setup_changes.scale_changed,
        )

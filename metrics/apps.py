from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"

    def ready(self) -> None:
        from ratings import changes

        from . import hints

        changes.listen(hints.send)

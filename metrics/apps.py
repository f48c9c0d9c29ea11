from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"

    def ready(self) -> None:
        from metrics.work import hints
        from ratings import changes

        changes.listen(hints.send)

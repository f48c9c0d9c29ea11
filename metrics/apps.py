from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"

    def ready(self) -> None:
        from metrics import naming
        from metrics.readings import preview
        from metrics.work import hints
        from projects import changes as of_projects
        from ratings import changes

        changes.listen(hints.send)
        of_projects.listen(weights_preview=preview.of_weights, raters_renamed=naming.rename_raters)

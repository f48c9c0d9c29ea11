from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"

    def ready(self) -> None:
        from metrics import naming
        from metrics.pages import people_columns
        from metrics.readings import preview
        from metrics.work import hints
        from projects import hooks as of_projects
        from projects.selectors import people_list
        from ratings import changes

        people_list.COLUMNS.append(people_columns.of)
        changes.listen(hints.send)
        of_projects.listen(weights_preview=preview.of_weights, raters_renamed=naming.rename_raters)

from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.pages import project_list

        from .alarms import waiting

        project_list.CASES.append(waiting.open_by_project)

from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.auditing import others
        from metrics.pages import project_list

        from .alarms import waiting
        from .consensus import audit

        project_list.CASES.append(waiting.open_by_project)
        others.ALL.append(others.Stored(audit.differences, audit.repair))

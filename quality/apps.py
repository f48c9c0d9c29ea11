from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.auditing import others
        from metrics.pages import chart_views, project_list
        from ratings.desk import exams

        from . import waiting
        from .alarms import marks
        from .consensus import audit
        from .exam import judging

        project_list.WAITS.append(waiting.by_project)
        chart_views.MARKS.append(marks.of)
        exams.HOLDER[:] = [judging.HOLDER]
        others.ALL.append(others.Stored(audit.differences, audit.repair))

from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.auditing import others
        from metrics.pages import chart_views, project_list
        from ratings.desk import exams

        from .alarms import marks, waiting
        from .consensus import audit
        from .exam import judging

        project_list.CASES.append(waiting.open_by_project)
        chart_views.MARKS.append(marks.of)
        exams.HOLDER[:] = [judging.HOLDER]
        others.ALL.append(others.Stored(audit.differences, audit.repair))

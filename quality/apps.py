from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.auditing import others
        from metrics.models import NamedView
        from metrics.pages import (
            chart_views,
            project_list,
            question_rows,
            rater_table,
            shared_views,
            verdict,
        )
        from ratings.annotation.assignments import exams
        from ratings.items import bulk_views

        from . import auditing, waiting
        from .alarms import marks
        from .consensus import audit
        from .exam import judging
        from .pages import rater_views, sending_views

        project_list.WAITS.append(waiting.by_project)
        question_rows.WAITS.append(waiting.by_question)
        raters = shared_views.Shown(rater_views.raters_of, {"funnel": rater_views.funnel_of})
        shared_views.SHOWN[NamedView.Page.RATERS] = raters
        chart_views.MARKS.append(marks.of)
        rater_table.MARKS.append(marks.of_raters)
        verdict.FIRST.append(marks.first)
        bulk_views.DONE["decide"] = sending_views.send
        exams.HOLDER[:] = [judging.HOLDER]
        others.ALL.append(others.Stored(audit.differences, audit.repair))
        others.ALL.extend(auditing.ALL)

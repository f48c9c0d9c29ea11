from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.integrity import audit_hooks
        from metrics.models import NamedView
        from metrics.views.charts import views
        from metrics.views.common import question_rows
        from metrics.views.dashboard import rater_table, verdict
        from metrics.views.project_list import listing
        from metrics.views.saved_views import shared_views
        from ratings.annotation.assignments import exams
        from ratings.items import bulk_views

        from . import auditing, waiting
        from .alarms import marks
        from .consensus import audit
        from .exam import judging
        from .pages import rater_views, sending_views

        listing.WAITS.append(waiting.by_project)
        question_rows.WAITS.append(waiting.by_question)
        raters = shared_views.Shown(rater_views.raters_of, {"funnel": rater_views.funnel_of})
        shared_views.SHOWN[NamedView.Page.RATERS] = raters
        views.MARKS.append(marks.of)
        rater_table.MARKS.append(marks.of_raters)
        verdict.FIRST.append(marks.first)
        bulk_views.DONE["decide"] = sending_views.send
        exams.HOLDER[:] = [judging.HOLDER]
        audit_hooks.ALL.append(audit_hooks.Stored(audit.differences, audit.repair))
        audit_hooks.ALL.extend(auditing.ALL)

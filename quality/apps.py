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

        from . import integrity
        from .alerts import annotations
        from .consensus import integrity as consensus_integrity
        from .exams import sequential_test
        from .inbox import selectors
        from .rater_status import views as rater_status_views
        from .review import assignment_views

        listing.WAITS.append(selectors.by_project)
        question_rows.WAITS.append(selectors.by_question)
        raters = shared_views.Shown(
            rater_status_views.raters_of, {"funnel": rater_status_views.funnel_of}
        )
        shared_views.SHOWN[NamedView.Page.RATERS] = raters
        views.MARKS.append(annotations.of)
        rater_table.MARKS.append(annotations.of_raters)
        verdict.FIRST.append(annotations.first)
        bulk_views.DONE["decide"] = assignment_views.send
        exams.HOLDER[:] = [sequential_test.HOLDER]
        audit_hooks.ALL.append(
            audit_hooks.Stored(consensus_integrity.differences, consensus_integrity.repair)
        )
        audit_hooks.ALL.extend(integrity.ALL)

from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        from metrics.integrity import audit_hooks
        from metrics.models import SavedView
        from metrics.views.charts import views
        from metrics.views.common import question_rows
        from metrics.views.dashboard import overview_context, rater_table
        from metrics.views.project_list import listing
        from metrics.views.saved_views import shared_views
        from projects import hooks as project_hooks
        from ratings.annotation.assignments import exams
        from ratings.items import bulk_views

        from . import integrity
        from .alerts import annotations
        from .consensus import integrity as consensus_integrity
        from .exams import sequential_test
        from .gates import services as gates
        from .inbox import selectors
        from .rater_status import judgements
        from .rater_status import views as rater_status_views
        from .review import assignment_views

        project_hooks.register_hooks(raters_renamed=gates.rename_raters_in_gates)
        listing.INBOX_SOURCES.append(selectors.get_entries_by_project)
        question_rows.INBOX_SOURCES.append(selectors.get_entries_by_question)
        raters = shared_views.SharedPage(
            rater_status_views.render_raters, {"funnel": rater_status_views.render_funnel}
        )
        shared_views.SHARED_PAGES[SavedView.Page.RATERS] = raters
        views.ANNOTATION_SOURCES.append(annotations.list_chart_annotations)
        rater_table.ANNOTATION_SOURCES.append(annotations.get_rater_annotations)
        overview_context.JUDGEMENT_SOURCES.append(judgements.judge_raters)
        bulk_views.ACTIONS["decide"] = assignment_views.assign_selected_items
        exams.EXAM_POLICY[:] = [sequential_test.EXAM_JUDGE]
        audit_hooks.REGISTERED_AUDITS.append(
            audit_hooks.RegisteredAudit(
                consensus_integrity.list_differences, consensus_integrity.repair_labels
            )
        )
        audit_hooks.REGISTERED_AUDITS.extend(integrity.CHECKS)

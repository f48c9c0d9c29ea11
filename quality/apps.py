from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        _register_pages()
        _register_work()


def _register_pages() -> None:
    """Register the parts of pages that quality adds to lower packages (hooks)."""
    from metrics.models import SavedView
    from metrics.views import charts, saved_views
    from metrics.views.common import question_rows
    from metrics.views.dashboard import overview_context, tables
    from metrics.views.project_list import project_row as listing_rows
    from metrics.views.reports import document
    from ratings.items import bulk_views

    from .alerts import chart_annotations
    from .inbox import entry_counts, inbox_entries
    from .rater_status import overview_raters
    from .rater_status import views as rater_status_views
    from .review import views as review_views

    listing_rows.PROJECT_INBOX.register(inbox_entries.ProjectInbox)
    question_rows.INBOX_SOURCES.register(entry_counts.get_entries_by_question)
    raters = saved_views.SharedPage(
        rater_status_views.render_raters, {"funnel": rater_status_views.render_funnel}
    )
    saved_views.SHARED_PAGES.register(raters, SavedView.Page.RATERS)
    charts.ANNOTATION_SOURCES.register(chart_annotations.list_chart_annotations)
    tables.ANNOTATION_SOURCES.register(chart_annotations.get_rater_annotations)
    overview_context.OVERVIEW_RATERS.register(overview_raters.select_overview_raters)
    document.RATER_NOTES.register(overview_raters.list_report_notes)
    bulk_views.ACTIONS.register(review_views.assign_selected_items, "decide")


def _register_work() -> None:
    """Register the functions that lower packages call at events of projects, imports and audits."""
    from metrics.integrity.audit import REGISTERED_AUDITS
    from projects import hooks as project_hooks
    from ratings.annotation.assignments import exams
    from ratings.exports.documents import EXPORT_KINDS
    from ratings.label_studio import services as label_studio_hooks
    from ratings.personal_data import PERSONAL_RECORDS

    from . import integrity, project_copies
    from .alerts import services as alerts
    from .exams import exam_rules
    from .gates import services as gates
    from .labels import files, label_studio
    from .personal_records import QUALITY_RECORDS

    project_hooks.RATERS_RENAMED.register(gates.rename_raters_in_gates)
    project_hooks.PROJECT_COPIED.register(project_copies.copy_settings)
    project_hooks.RATER_PAUSED.register(alerts.resolve_alerts_of_paused)
    label_studio_hooks.AFTER_PULL.register(label_studio.write_labels)
    PERSONAL_RECORDS.register(QUALITY_RECORDS)
    EXPORT_KINDS.register(files.LABELS, "labels")
    exams.EXAM_POLICY.register(exam_rules.SEQUENTIAL_TEST_POLICY)
    for audit in integrity.CHECKS:
        REGISTERED_AUDITS.register(audit)

from django.apps import AppConfig


class QualityConfig(AppConfig):
    name = "quality"

    def ready(self) -> None:
        _register_parts_of_pages()
        _register_listeners()
        _register_exports_audits_and_exam_policy()


def _register_parts_of_pages() -> None:
    """Register the parts of pages that quality adds to lower packages (hooks)."""
    from metrics.models import SavedView
    from metrics.views import charts, saved_views
    from metrics.views.common import question_rows
    from metrics.views.dashboard import overview_context, tables
    from metrics.views.project_list import project_row
    from metrics.views.reports import document
    from ratings.items import bulk_views

    from .alerts import chart_annotations
    from .inbox import entry_counts, inbox_entries
    from .rater_status import overview_raters
    from .rater_status import views as rater_status_views
    from .review import views as review_views

    project_row.PROJECT_INBOX.register(inbox_entries.ProjectInbox)
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


def _register_listeners() -> None:
    """Register the functions that lower packages call after changes of projects, and after pulls.

    A pull reads the ratings of a Label Studio project.
    """
    from projects import hooks as project_hooks
    from ratings.label_studio import services as label_studio_hooks

    from . import project_copies
    from .alerts import services as alerts
    from .gates import services as gates
    from .labels import label_studio

    project_hooks.RATERS_RENAMED.register(gates.rename_raters_in_gates)
    project_hooks.PROJECT_COPIED.register(project_copies.copy_settings)
    project_hooks.RATER_PAUSED.register(alerts.resolve_alerts_of_paused)
    label_studio_hooks.AFTER_PULL.register(label_studio.write_labels)


def _register_exports_audits_and_exam_policy() -> None:
    """Register label files, a rater's personal records, audits of stored rows, and the exam rule.

    Lower packages export the files and records, run the audits, and end exams by the rule.
    """
    from metrics.integrity.audit import REGISTERED_AUDITS
    from ratings.annotation.assignments import exams
    from ratings.exports.documents import EXPORT_KINDS
    from ratings.personal_data import PERSONAL_RECORDS

    from . import integrity
    from .exams import exam_rules
    from .labels import files
    from .personal_records import QUALITY_RECORDS

    PERSONAL_RECORDS.register(QUALITY_RECORDS)
    EXPORT_KINDS.register(files.LABELS, "labels")
    exams.EXAM_POLICY.register(exam_rules.SEQUENTIAL_TEST_POLICY)
    for audit in integrity.CHECKS:
        REGISTERED_AUDITS.register(audit)

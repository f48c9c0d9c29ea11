"""URLs of the annotation pages, items, media, imports, exports and Label Studio."""

from django.urls import path

from ratings import rater_pseudonyms
from ratings.annotation import list_views, rate_page
from ratings.annotation import views as annotation_views
from ratings.exports import rating_files
from ratings.exports import views as export_views
from ratings.files import media_views
from ratings.imports.wizard import views as import_views
from ratings.items import bulk_views, deletion_views
from ratings.items import views as item_views
from ratings.label_studio import views as label_studio_views

PROJECT = "projects/<int:project_id>/"

urlpatterns = [
    path("projects/question-preview/", rate_page.preview_question, name="question_preview"),
    path(f"{PROJECT}rate/", annotation_views.rate, name="rate"),
    path(f"{PROJECT}rate/next/", annotation_views.rate_next, name="rate_next"),
    path(f"{PROJECT}rate/goal/", annotation_views.rate_goal, name="rate_goal"),
    path(f"{PROJECT}rate/undo/", annotation_views.rate_undo, name="rate_undo"),
    path(f"{PROJECT}rate/<int:item_id>/", annotation_views.rate_item, name="rate_item"),
    path(f"{PROJECT}rate/<int:item_id>/skip/", annotation_views.rate_skip, name="rate_skip"),
    path(f"{PROJECT}new-item/", item_views.create_item, name="item_new"),
    path(f"{PROJECT}new-item/preview/", item_views.preview_item, name="item_preview"),
    path(f"{PROJECT}selected-items/", bulk_views.run_bulk_action, name="items_bulk"),
    path(f"{PROJECT}selected-items/delete/", deletion_views.delete_items, name="items_delete"),
    path(
        f"{PROJECT}people/raters/<int:rater_id>/data.jsonl",
        deletion_views.export_rater_data,
        name="rater_data",
    ),
    path(
        f"{PROJECT}people/pseudonyms/",
        rater_pseudonyms.edit_pseudonyms,
        name="rater_pseudonyms",
    ),
    path(
        f"{PROJECT}people/pseudonyms/set/",
        rater_pseudonyms.set_raters_hidden,
        name="rater_pseudonyms_set",
    ),
    path(
        f"{PROJECT}people/pseudonyms/disclose/",
        rater_pseudonyms.show_disclosed_raters,
        name="rater_pseudonyms_disclose",
    ),
    path(f"{PROJECT}delete/", deletion_views.delete_project, name="project_delete"),
    path(f"{PROJECT}item/<int:item_id>/delete/", deletion_views.delete_item, name="item_delete"),
    path(
        f"{PROJECT}people/raters/<int:rater_id>/delete/",
        deletion_views.delete_rater,
        name="rater_delete",
    ),
    path(f"{PROJECT}item/<int:item_id>/edit/", item_views.edit_item, name="item_edit"),
    path(
        f"{PROJECT}item/<int:item_id>/gold/<str:key>/", item_views.set_item_gold, name="item_gold"
    ),
    path(f"{PROJECT}my-ratings/", list_views.show_own_ratings, name="my_ratings"),
    path(
        f"{PROJECT}messages/<int:message_id>/read/",
        list_views.mark_message_read,
        name="message_read",
    ),
    path(
        f"{PROJECT}skipped/",
        list_views.show_skipped_and_flagged_items,
        name="skipped_and_flagged",
    ),
    path(f"{PROJECT}skipped/resolve/", list_views.resolve_skip_or_flag, name="skip_resolve"),
    path(f"{PROJECT}data/", import_views.show_data, name="data"),
    path(f"{PROJECT}data/media/", media_views.upload_media, name="media_new"),
    path(f"{PROJECT}media/<str:name>", media_views.serve_media, name="media"),
    *(
        path(
            f"{PROJECT}data/export.{kind}",
            export_views.export_ratings,
            {"kind": kind},
            name=f"export_{kind}",
        )
        for kind in rating_files.FORMATS
    ),
    path(f"{PROJECT}data/exports/", export_views.start_export, name="export_start"),
    path(
        f"{PROJECT}data/exports/progress/",
        export_views.show_export_progress,
        name="export_progress",
    ),
    path(
        f"{PROJECT}data/exports/<int:export_id>/file/",
        export_views.download_export,
        name="export_file",
    ),
    path(
        f"{PROJECT}data/exports/<int:export_id>/delete/",
        export_views.delete_export,
        name="export_delete",
    ),
    path(f"{PROJECT}data/import/", import_views.upload_to_project, name="import_upload"),
    path(f"{PROJECT}data/import/<int:run_id>/", import_views.show_import_run, name="import_run"),
    path(
        f"{PROJECT}data/import/<int:run_id>/progress/",
        import_views.show_import_progress,
        name="import_progress",
    ),
    path(
        f"{PROJECT}data/import/<int:run_id>/files/<int:place>/",
        import_views.serve_archive_file,
        name="import_file",
    ),
    path(
        "projects/import/<int:run_id>/files/<int:place>/",
        import_views.serve_archive_file,
        name="import_project_file",
    ),
    path(
        f"{PROJECT}settings/connections/",
        label_studio_views.list_connections,
        name="label_studio_connections",
    ),
    path(
        f"{PROJECT}settings/connections/<int:connection_id>/",
        label_studio_views.show_connection,
        name="label_studio_connection",
    ),
    path(
        f"{PROJECT}settings/connections/<int:connection_id>/action/",
        label_studio_views.apply_action,
        name="label_studio_action",
    ),
    path(
        "hooks/label-studio/<int:connection_id>/<str:secret>/",
        label_studio_views.receive_hint,
        name="label_studio_hint",
    ),
    path("projects/import/", import_views.upload_new_project, name="import_upload_new_project"),
    path("projects/import/<int:run_id>/", import_views.show_import_run, name="import_project_run"),
    path(
        "projects/import/<int:run_id>/progress/",
        import_views.show_import_progress,
        name="import_project_progress",
    ),
]

"""App configuration of ratings: registers its listeners for changes of projects."""

from django.apps import AppConfig


class RatingsConfig(AppConfig):
    name = "ratings"

    def ready(self) -> None:
        from projects import hooks
        from ratings.exports import documents, rating_files
        from ratings.files import export_files
        from ratings.services import project_changes

        hooks.COUNT_IN_USE.register(project_changes.count_ratings_by_code)
        hooks.ZONE_CHANGED.register(project_changes.start_backfill_after_zone_change)
        hooks.SCALE_CHANGED.register(project_changes.notify_after_scale_change)
        hooks.RATERS_RENAMED.register(export_files.discard_project_exports)
        documents.EXPORT_KINDS.register(rating_files.RATINGS, "ratings")

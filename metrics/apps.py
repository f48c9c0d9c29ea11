"""App configuration of metrics."""

from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"

    def ready(self) -> None:
        """Register what metrics adds to lower packages: columns of people, item orders, hooks."""
        from metrics import saved_views
        from metrics.filtered import item_ranking
        from metrics.jobs import hints
        from metrics.results import other_weights
        from metrics.views import raters
        from projects import hooks as project_hooks
        from projects import selectors
        from ratings.services import record

        selectors.COLUMN_PROVIDERS.register(raters.build_columns)
        item_ranking.register_rankings()
        record.RATINGS_CHANGED.register(hints.send_hint)
        project_hooks.WEIGHTS_PREVIEW.register(other_weights.preview_weights)
        project_hooks.RATERS_RENAMED.register(saved_views.rename_raters_in_views)

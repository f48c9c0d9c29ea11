"""URLs of the API of annotation, ratings, items, raters and exports."""

from django.urls import path

from ratings.exports import api as export_api
from ratings.items.deletion_views import DeletableProjectView

from . import annotation_views, history_views, item_views, rater_views, rating_views

PROJECT = "projects/<int:project_id>/"

urlpatterns = [
    path(PROJECT, DeletableProjectView.as_view(), name="api-project"),
    path(f"{PROJECT}export/", rating_views.ExportView.as_view(), name="api-export"),
    path(f"{PROJECT}exports/", export_api.ExportListView.as_view(), name="api-exports"),
    path(
        f"{PROJECT}exports/<int:export_id>/",
        export_api.ExportDetailView.as_view(),
        name="api-export-run",
    ),
    path(
        f"{PROJECT}exports/<int:export_id>/file/",
        export_api.ExportFileView.as_view(),
        name="api-export-file",
    ),
    path(f"{PROJECT}items/", item_views.ItemsView.as_view(), name="api-items"),
    path(f"{PROJECT}items/<path:item_key>/", item_views.ItemView.as_view(), name="api-item"),
    path(f"{PROJECT}media/", item_views.MediaView.as_view(), name="api-media"),
    path(f"{PROJECT}raters/", rater_views.RatersView.as_view(), name="api-raters"),
    path(f"{PROJECT}raters/<path:rater_key>/", rater_views.RaterView.as_view(), name="api-rater"),
    path(f"{PROJECT}ratings/", rating_views.RatingsView.as_view(), name="api-ratings"),
    path(f"{PROJECT}ratings/history/", history_views.HistoryView.as_view(), name="api-history"),
    path(f"{PROJECT}next/", annotation_views.NextItemView.as_view(), name="api-next"),
]

from django.urls import path

from . import api

AGREEMENT = "projects/<int:project_id>/agreement/"

urlpatterns = [
    path(AGREEMENT, api.Agreement.as_view(), name="api-agreement"),
    path(f"{AGREEMENT}pairs/", api.Pairs.as_view(), name="api-pairs"),
    path(f"{AGREEMENT}raters/", api.Raters.as_view(), name="api-rater-agreement"),
    path(f"{AGREEMENT}trend/", api.Trend.as_view(), name="api-trend"),
    # A rater's key may hold slashes.
    path(f"{AGREEMENT}raters/<path:rater_key>/trend/", api.RaterTrend.as_view(), name="api-rater-trend"),
]

from django.urls import path

from . import details, every, named, trends, views

AGREEMENT = "projects/<int:project_id>/agreement/"

VIEWS = "projects/<int:project_id>/views/"

urlpatterns = [
    path(AGREEMENT, views.Agreement.as_view(), name="api-agreement"),
    path(f"{AGREEMENT}categories/", details.Categories.as_view(), name="api-categories"),
    path(f"{AGREEMENT}change/", details.Change.as_view(), name="api-change"),
    path(f"{AGREEMENT}coefficients/", every.Every.as_view(), name="api-coefficients"),
    path(f"{AGREEMENT}disputed/", details.Disputed.as_view(), name="api-disputed"),
    path(f"{AGREEMENT}pair/", every.TwoRaters.as_view(), name="api-pair"),
    path(f"{AGREEMENT}pairs/", views.Pairs.as_view(), name="api-pairs"),
    path(f"{AGREEMENT}raters/", views.Raters.as_view(), name="api-rater-agreement"),
    path(f"{AGREEMENT}trend/", trends.Trend.as_view(), name="api-trend"),
    path(VIEWS, named.NamedViews.as_view(), name="api-named-views"),
    path(f"{VIEWS}<int:view_id>/", named.OneNamedView.as_view(), name="api-named-view"),
    # A rater's key may hold slashes.
    path(
        f"{AGREEMENT}raters/<path:rater_key>/trend/",
        trends.RaterTrend.as_view(),
        name="api-rater-trend",
    ),
]

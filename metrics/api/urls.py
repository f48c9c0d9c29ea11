from django.urls import path

from . import agreement, breakdowns, coefficients, saved_views, trends

AGREEMENT = "projects/<int:project_id>/agreement/"

VIEWS = "projects/<int:project_id>/views/"

urlpatterns = [
    path(AGREEMENT, agreement.Agreement.as_view(), name="api-agreement"),
    path(f"{AGREEMENT}categories/", breakdowns.Categories.as_view(), name="api-categories"),
    path(f"{AGREEMENT}change/", breakdowns.Change.as_view(), name="api-change"),
    path(f"{AGREEMENT}coefficients/", coefficients.Every.as_view(), name="api-coefficients"),
    path(f"{AGREEMENT}disputed/", breakdowns.Disputed.as_view(), name="api-disputed"),
    path(f"{AGREEMENT}pair/", coefficients.TwoRaters.as_view(), name="api-pair"),
    path(f"{AGREEMENT}pairs/", agreement.Pairs.as_view(), name="api-pairs"),
    path(f"{AGREEMENT}raters/", agreement.Raters.as_view(), name="api-rater-agreement"),
    path(f"{AGREEMENT}trend/", trends.Trend.as_view(), name="api-trend"),
    path(VIEWS, saved_views.NamedViews.as_view(), name="api-named-views"),
    path(f"{VIEWS}<int:view_id>/", saved_views.OneNamedView.as_view(), name="api-named-view"),
    # A rater's key may hold slashes.
    path(
        f"{AGREEMENT}raters/<path:rater_key>/trend/",
        trends.RaterTrend.as_view(),
        name="api-rater-trend",
    ),
]

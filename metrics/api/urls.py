"""URLs of the API of agreement and of saved views."""

from django.urls import path

from . import agreement, agreement_details, coefficients, saved_views, trends

AGREEMENT_PATH = "projects/<int:project_id>/agreement/"

SAVED_VIEWS_PATH = "projects/<int:project_id>/views/"

urlpatterns = [
    path(AGREEMENT_PATH, agreement.AgreementView.as_view(), name="api-agreement"),
    path(
        f"{AGREEMENT_PATH}categories/",
        agreement_details.CategoryAgreementView.as_view(),
        name="api-categories",
    ),
    path(
        f"{AGREEMENT_PATH}change/",
        agreement_details.ChangeExplanationView.as_view(),
        name="api-change",
    ),
    path(
        f"{AGREEMENT_PATH}coefficients/",
        coefficients.CoefficientsView.as_view(),
        name="api-coefficients",
    ),
    path(
        f"{AGREEMENT_PATH}disputed/",
        agreement_details.DisputedItemsView.as_view(),
        name="api-disputed-items",
    ),
    path(f"{AGREEMENT_PATH}pair/", coefficients.PairDetailsView.as_view(), name="api-pair"),
    path(f"{AGREEMENT_PATH}pairs/", agreement.PairListView.as_view(), name="api-pairs"),
    path(f"{AGREEMENT_PATH}raters/", agreement.RaterListView.as_view(), name="api-rater-agreement"),
    path(f"{AGREEMENT_PATH}trend/", trends.TrendView.as_view(), name="api-trend"),
    path(SAVED_VIEWS_PATH, saved_views.SavedViewListView.as_view(), name="api-saved-views"),
    path(
        f"{SAVED_VIEWS_PATH}<int:view_id>/",
        saved_views.SavedViewDetailView.as_view(),
        name="api-saved-view",
    ),
    # A rater's key may contain slashes.
    path(
        f"{AGREEMENT_PATH}raters/<path:rater_key>/trend/",
        trends.RaterTrendView.as_view(),
        name="api-rater-trend",
    ),
]

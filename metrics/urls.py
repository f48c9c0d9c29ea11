"""URLs of the pages of results, from the list of projects to reports and saved views."""

from django.urls import path
from django.views.generic import RedirectView

from metrics.views import (
    charts,
    coefficients,
    glossary,
    headline_settings,
    pairs,
    questions,
    raters,
    saved_views,
)
from metrics.views.changes import views as changes_views
from metrics.views.dashboard import views as dashboard_views
from metrics.views.items import views as items_views
from metrics.views.project_list import views as project_list_views
from metrics.views.reports import views as reports_views

PROJECT_PATH = "projects/<int:project_id>/"

urlpatterns = [
    path("", project_list_views.show_projects, name="projects"),
    path("projects/", RedirectView.as_view(pattern_name="projects"), name="projects_redirect"),
    path("example/", project_list_views.load_example, name="load_example"),
    path("example/remove/", project_list_views.remove_examples, name="remove_examples"),
    path(f"{PROJECT_PATH}tour/close/", dashboard_views.close_tour, name="close_tour"),
    path("glossary/", glossary.show_glossary, name="glossary"),
    path("glossary/statistics/", glossary.show_statistics_handbook, name="statistics"),
    path(PROJECT_PATH, dashboard_views.show_dashboard, name="dashboard"),
    path(f"{PROJECT_PATH}statistics/", dashboard_views.show_statistics, name="project_statistics"),
    path(f"{PROJECT_PATH}star/", project_list_views.set_star, name="star"),
    path(f"{PROJECT_PATH}questions/", questions.show_questions, name="questions"),
    path(f"{PROJECT_PATH}charts/<slug:name>.<slug:form>", charts.show_chart, name="chart"),
    path(f"{PROJECT_PATH}raters/<path:key>/", raters.show_rater, name="rater"),
    path(f"{PROJECT_PATH}coefficients/", coefficients.show_coefficients, name="coefficients"),
    path(
        f"{PROJECT_PATH}coefficients/recommendation/",
        coefficients.show_recommendation,
        name="coefficient_recommendation",
    ),
    path(
        f"{PROJECT_PATH}coefficients/headline/",
        headline_settings.edit_headline,
        name="headline_settings",
    ),
    path(f"{PROJECT_PATH}pairs/", pairs.show_pair, name="pair"),
    path(f"{PROJECT_PATH}change/", changes_views.show_change, name="change"),
    path(
        f"{PROJECT_PATH}guidelines/effect/",
        changes_views.show_guideline_effect,
        name="guideline_effect",
    ),
    path(f"{PROJECT_PATH}views/", saved_views.show_saved_views, name="saved_views"),
    path(f"{PROJECT_PATH}views/<int:view_id>/", saved_views.update_view, name="saved_view"),
    path(
        f"{PROJECT_PATH}views/links/<int:link_id>/",
        saved_views.revoke_link,
        name="share_link",
    ),
    path("shared/<str:secret>/", saved_views.show_shared_page, name="shared"),
    path(
        "shared/<str:secret>/<slug:name>.json", saved_views.show_shared_chart, name="shared_chart"
    ),
    path(f"{PROJECT_PATH}reports/", reports_views.show_reports, name="reports"),
    path(f"{PROJECT_PATH}reports/<int:number>/", reports_views.show_report, name="report"),
    path(
        f"{PROJECT_PATH}reports/<int:number>.<slug:form>",
        reports_views.download_report,
        name="report_file",
    ),
    path(f"{PROJECT_PATH}items/", items_views.show_items, name="items"),
    path(f"{PROJECT_PATH}items.csv", items_views.export_items, name="items_csv"),
    path(f"{PROJECT_PATH}items/<path:key>/", items_views.show_item, name="item"),
]

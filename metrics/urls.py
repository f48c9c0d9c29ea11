from django.urls import path
from django.views.generic import RedirectView

from metrics.views import charts, glossary, pairs
from metrics.views.changes import guideline_effect
from metrics.views.changes import views as changes_views
from metrics.views.coefficients import headline_views
from metrics.views.coefficients import views as coefficients_views
from metrics.views.dashboard import views
from metrics.views.items import views as items_views
from metrics.views.project_list import example_views
from metrics.views.project_list import views as project_list_views
from metrics.views.raters import views as raters_views
from metrics.views.reports import views as reports_views
from metrics.views.saved_views import shared_views
from metrics.views.saved_views import views as saved_views_views

PROJECT_PATH = "projects/<int:project_id>/"

urlpatterns = [
    path("", views.show_projects, name="projects"),
    path("projects/", RedirectView.as_view(pattern_name="projects"), name="projects_redirect"),
    path("example/", example_views.load_example, name="load_example"),
    path("example/remove/", example_views.remove_examples, name="remove_examples"),
    path(f"{PROJECT_PATH}tour/close/", example_views.close_tour, name="close_tour"),
    path("glossary/", glossary.show_glossary, name="glossary"),
    path("glossary/statistics/", glossary.show_statistics_handbook, name="statistics"),
    path(PROJECT_PATH, views.show_dashboard, name="dashboard"),
    path(f"{PROJECT_PATH}statistics/", views.show_statistics, name="project_statistics"),
    path(f"{PROJECT_PATH}star/", project_list_views.set_star, name="star"),
    path(f"{PROJECT_PATH}questions/", project_list_views.show_questions, name="questions"),
    path(f"{PROJECT_PATH}charts/<slug:name>.<slug:form>", charts.show_chart, name="chart"),
    path(f"{PROJECT_PATH}raters/<path:key>/", raters_views.show_rater, name="rater"),
    path(f"{PROJECT_PATH}coefficients/", coefficients_views.show_coefficients, name="coefficients"),
    path(
        f"{PROJECT_PATH}coefficients/recommendation/",
        coefficients_views.show_recommendation,
        name="coefficient_recommendation",
    ),
    path(
        f"{PROJECT_PATH}coefficients/headline/",
        headline_views.edit_headline,
        name="headline_settings",
    ),
    path(f"{PROJECT_PATH}pairs/", pairs.show_pair, name="pair"),
    path(f"{PROJECT_PATH}change/", changes_views.show_change, name="change"),
    path(
        f"{PROJECT_PATH}guidelines/effect/",
        guideline_effect.show_guideline_effect,
        name="guideline_effect",
    ),
    path(f"{PROJECT_PATH}views/", saved_views_views.show_saved_views, name="saved_views"),
    path(f"{PROJECT_PATH}views/<int:view_id>/", saved_views_views.update_view, name="saved_view"),
    path(
        f"{PROJECT_PATH}views/links/<int:link_id>/",
        saved_views_views.revoke_link,
        name="share_link",
    ),
    path("shared/<str:secret>/", shared_views.show_shared_page, name="shared"),
    path(
        "shared/<str:secret>/<slug:name>.json", shared_views.show_shared_chart, name="shared_chart"
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

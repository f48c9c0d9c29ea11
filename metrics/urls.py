from django.urls import path
from django.views.generic import RedirectView

from metrics.pages import (
    change_views,
    chart_views,
    detail_views,
    example_views,
    first_views,
    item_views,
    named_views,
    overview_views,
    report_views,
    shared_views,
    views,
    word_views,
)

PROJECT = "projects/<int:project_id>/"

urlpatterns = [
    path("", views.projects, name="projects"),
    path("projects/", RedirectView.as_view(pattern_name="projects"), name="projects_below"),
    path("example/", example_views.load_example, name="load_example"),
    path("words/", word_views.all_words, name="all_words"),
    path("words/statistics/", word_views.statistics, name="statistics"),
    path("raters/", overview_views.own_raters, name="own_raters"),
    path(PROJECT, views.dashboard, name="dashboard"),
    path(f"{PROJECT}star/", overview_views.star, name="star"),
    path(f"{PROJECT}questions/", overview_views.questions, name="questions"),
    path(f"{PROJECT}charts/<slug:name>.<slug:form>", chart_views.chart, name="chart"),
    path(f"{PROJECT}raters/<path:key>/", detail_views.rater, name="rater"),
    path(f"{PROJECT}coefficients/", detail_views.coefficients, name="coefficients"),
    path(f"{PROJECT}which/", detail_views.which, name="which"),
    path(f"{PROJECT}first/", first_views.first, name="first"),
    path(f"{PROJECT}pairs/", detail_views.pair, name="pair"),
    path(f"{PROJECT}change/", change_views.change, name="change"),
    path(f"{PROJECT}views/", named_views.named_views, name="named_views"),
    path(f"{PROJECT}views/<int:view_id>/", named_views.change, name="named_view"),
    path(f"{PROJECT}views/links/<int:link_id>/", named_views.end_link, name="view_link"),
    path("shared/<str:secret>/", shared_views.shared, name="shared"),
    path("shared/<str:secret>/<slug:name>.json", shared_views.shared_chart, name="shared_chart"),
    path(f"{PROJECT}reports/", report_views.reports, name="reports"),
    path(f"{PROJECT}reports/<int:number>/", report_views.report, name="report"),
    path(
        f"{PROJECT}reports/<int:number>.<slug:form>",
        report_views.report_file,
        name="report_file",
    ),
    path(f"{PROJECT}items/", item_views.items, name="items"),
    path(f"{PROJECT}items.csv", item_views.items_csv, name="items_csv"),
    path(f"{PROJECT}items/<path:key>/", item_views.item, name="item"),
]

from django.urls import path

from . import views, views_change, views_charts, views_details, views_example

PROJECT = "projects/<int:project_id>/"

urlpatterns = [
    path("", views.projects, name="projects"),
    path("example/", views_example.load_example, name="load_example"),
    path(PROJECT, views.dashboard, name="dashboard"),
    path(f"{PROJECT}live/", views.live, name="live"),
    path(f"{PROJECT}charts/<slug:name>.<slug:form>", views_charts.chart, name="chart"),
    path(f"{PROJECT}raters/<path:key>/", views_details.rater, name="rater"),
    path(f"{PROJECT}pairs/", views_details.pair, name="pair"),
    path(f"{PROJECT}change/", views_change.change, name="change"),
    path(f"{PROJECT}change/state/", views_change.change_state, name="change_state"),
    path(f"{PROJECT}items/", views_details.items, name="items"),
    path(f"{PROJECT}items/<path:key>/", views_details.item, name="item"),
]

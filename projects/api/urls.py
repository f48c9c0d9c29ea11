"""URLs of the projects API."""

from django.urls import path

from . import scale_versions, views

urlpatterns = [
    path("projects/", views.ProjectListView.as_view(), name="api-projects"),
    path("projects/<int:project_id>/", views.ProjectDetailView.as_view(), name="api-project"),
    path(
        "projects/<int:project_id>/scales/",
        scale_versions.ScaleVersionListView.as_view(),
        name="api-scale-versions",
    ),
    path(
        "projects/<int:project_id>/weights/",
        scale_versions.WeightsView.as_view(),
        name="api-weights",
    ),
]

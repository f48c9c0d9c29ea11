from django.urls import path

from . import scale_versions, views

urlpatterns = [
    path("projects/", views.Projects.as_view(), name="api-projects"),
    path("projects/<int:project_id>/", views.OneProject.as_view(), name="api-project"),
    path(
        "projects/<int:project_id>/scales/",
        scale_versions.ScaleVersions.as_view(),
        name="api-scale-versions",
    ),
]

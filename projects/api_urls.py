from django.urls import path

from . import api

urlpatterns = [
    path("projects/", api.Projects.as_view(), name="api-projects"),
    path("projects/<int:project_id>/", api.OneProject.as_view(), name="api-project"),
    path("projects/<int:project_id>/items/", api.Items.as_view(), name="api-items"),
    path("projects/<int:project_id>/raters/", api.Raters.as_view(), name="api-raters"),
]

from django.urls import path

from . import views

urlpatterns = [
    path("projects/", views.Projects.as_view(), name="api-projects"),
    path("projects/<int:project_id>/", views.OneProject.as_view(), name="api-project"),
    path("projects/<int:project_id>/items/", views.Items.as_view(), name="api-items"),
    path("projects/<int:project_id>/raters/", views.Raters.as_view(), name="api-raters"),
]

from django.urls import path

from . import views

urlpatterns = [
    path("projects/", views.Projects.as_view(), name="api-projects"),
    path("projects/<int:project_id>/", views.OneProject.as_view(), name="api-project"),
]

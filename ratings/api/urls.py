from django.urls import path

from . import views

urlpatterns = [
    path("projects/<int:project_id>/ratings/", views.Ratings.as_view(), name="api-ratings"),
]

from django.urls import path

from . import api

urlpatterns = [
    path("projects/<int:project_id>/ratings/", api.Ratings.as_view(), name="api-ratings"),
]

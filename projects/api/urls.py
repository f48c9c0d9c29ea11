"""URLs of the projects API."""

from django.urls import path

from . import questions, views

urlpatterns = [
    path("projects/", views.ProjectListView.as_view(), name="api-projects"),
    path("projects/<int:project_id>/archive/", views.ArchiveView.as_view(), name="api-archive"),
    path("projects/<int:project_id>/copy/", views.CopyView.as_view(), name="api-copy"),
    path(
        "projects/<int:project_id>/invitations/",
        views.InvitationListView.as_view(),
        name="api-invitations",
    ),
    path(
        "projects/<int:project_id>/questions/",
        questions.QuestionListView.as_view(),
        name="api-questions",
    ),
    path(
        "projects/<int:project_id>/questions/<str:question_key>/",
        questions.QuestionDetailView.as_view(),
        name="api-question",
    ),
    path(
        "projects/<int:project_id>/scales/",
        questions.ScaleVersionListView.as_view(),
        name="api-scale-versions",
    ),
    path(
        "projects/<int:project_id>/weights/",
        questions.WeightsView.as_view(),
        name="api-weights",
    ),
]

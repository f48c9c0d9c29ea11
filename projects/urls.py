from django.urls import path

from . import views, views_guidelines, views_people, views_question, views_tokens

QUESTION = "projects/<int:project_id>/setup/questions/<str:key>/"
PEOPLE = "projects/<int:project_id>/people/"

urlpatterns = [
    path("tokens/", views_tokens.own_tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", views_tokens.revoke_token, name="revoke_token"),
    path("projects/new/", views.project_new, name="project_new"),
    path("projects/guidelines-preview/", views.guidelines_preview, name="guidelines_preview"),
    path("projects/<int:project_id>/setup/", views.setup, name="setup"),
    path("projects/<int:project_id>/setup/new-question/", views.question_new, name="question_new"),
    path(QUESTION, views_question.question, name="question"),
    path(QUESTION + "text/", views_question.question_text, name="question_text"),
    path(QUESTION + "categories/", views_question.question_categories, name="question_categories"),
    path(QUESTION + "weights/", views_question.question_weights, name="question_weights"),
    path(QUESTION + "weights/check/", views_question.matrix_check, name="matrix_check"),
    path("projects/<int:project_id>/guidelines/", views_guidelines.guidelines, name="guidelines"),
    path("projects/<int:project_id>/guidelines/<int:number>/", views_guidelines.guidelines, name="guidelines_version"),
    path(PEOPLE, views_people.people, name="people"),
    path(PEOPLE + "add/", views_people.member_add, name="member_add"),
    path(PEOPLE + "members/<int:member_id>/link/", views_people.member_link, name="member_link"),
    path(PEOPLE + "members/<int:member_id>/role/", views_people.member_role, name="member_role"),
    path(PEOPLE + "members/<int:member_id>/remove/", views_people.member_remove, name="member_remove"),
    path(PEOPLE + "raters/<int:rater_id>/", views_people.rater_change, name="rater_change"),
    path(PEOPLE + "raters/<int:rater_id>/pause/", views_people.rater_pause, name="rater_pause"),
]

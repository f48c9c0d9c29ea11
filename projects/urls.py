from django.urls import path

from projects.views import (
    guidelines,
    invitations,
    offers,
    people,
    project_settings,
    questions,
    tokens,
)

QUESTION = "projects/<int:project_id>/setup/questions/<str:key>/"
PEOPLE = "projects/<int:project_id>/people/"

urlpatterns = [
    path("tokens/", tokens.own_tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", tokens.revoke_token, name="revoke_token"),
    path("offers/<int:offer_id>/", offers.offer_answer, name="offer_answer"),
    path("projects/new/", project_settings.project_new, name="project_new"),
    path(
        "projects/guidelines-preview/",
        project_settings.guidelines_preview,
        name="guidelines_preview",
    ),
    path("projects/<int:project_id>/setup/", project_settings.setup, name="setup"),
    path(
        "projects/<int:project_id>/archive/",
        project_settings.project_archive,
        name="project_archive",
    ),
    path(
        "projects/<int:project_id>/setup/new-question/",
        questions.question_new,
        name="question_new",
    ),
    path(QUESTION, questions.question, name="question"),
    path(QUESTION + "text/", questions.question_text, name="question_text"),
    path(QUESTION + "categories/", questions.question_categories, name="question_categories"),
    path(QUESTION + "weights/", questions.question_weights, name="question_weights"),
    path(QUESTION + "weights/check/", questions.matrix_check, name="matrix_check"),
    path("projects/<int:project_id>/guidelines/", guidelines.guidelines, name="guidelines"),
    path(
        "projects/<int:project_id>/guidelines/<int:number>/",
        guidelines.guidelines,
        name="guidelines_version",
    ),
    path(PEOPLE, people.people, name="people"),
    path(PEOPLE + "act/", people.people_act, name="people_act"),
    path(PEOPLE + "undo/", people.people_undo, name="people_undo"),
    path(PEOPLE + "add/", invitations.member_add, name="member_add"),
    path(PEOPLE + "invite/", invitations.members_invite, name="members_invite"),
    path(PEOPLE + "members/<int:member_id>/link/", invitations.member_link, name="member_link"),
    path(
        PEOPLE + "offers/<int:offer_id>/withdraw/",
        offers.offer_withdraw,
        name="offer_withdraw",
    ),
    path(PEOPLE + "raters/<int:rater_id>/", invitations.rater_change, name="rater_change"),
]

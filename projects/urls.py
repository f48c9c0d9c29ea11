from django.urls import path

from projects.people import member_views, offer_views, people_views, token_views
from projects.setup import guideline_views, project_views, question_views

QUESTION = "projects/<int:project_id>/setup/questions/<str:key>/"
PEOPLE = "projects/<int:project_id>/people/"

urlpatterns = [
    path("tokens/", token_views.own_tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", token_views.revoke_token, name="revoke_token"),
    path("offers/<int:offer_id>/", offer_views.offer_answer, name="offer_answer"),
    path("projects/new/", project_views.project_new, name="project_new"),
    path(
        "projects/guidelines-preview/", project_views.guidelines_preview, name="guidelines_preview"
    ),
    path("projects/<int:project_id>/setup/", project_views.setup, name="setup"),
    path(
        "projects/<int:project_id>/archive/", project_views.project_archive, name="project_archive"
    ),
    path(
        "projects/<int:project_id>/setup/new-question/",
        question_views.question_new,
        name="question_new",
    ),
    path(QUESTION, question_views.question, name="question"),
    path(QUESTION + "text/", question_views.question_text, name="question_text"),
    path(QUESTION + "categories/", question_views.question_categories, name="question_categories"),
    path(QUESTION + "weights/", question_views.question_weights, name="question_weights"),
    path(QUESTION + "weights/check/", question_views.matrix_check, name="matrix_check"),
    path("projects/<int:project_id>/guidelines/", guideline_views.guidelines, name="guidelines"),
    path(
        "projects/<int:project_id>/guidelines/<int:number>/",
        guideline_views.guidelines,
        name="guidelines_version",
    ),
    path(PEOPLE, people_views.people, name="people"),
    path(PEOPLE + "act/", people_views.people_act, name="people_act"),
    path(PEOPLE + "undo/", people_views.people_undo, name="people_undo"),
    path(PEOPLE + "add/", member_views.member_add, name="member_add"),
    path(PEOPLE + "invite/", member_views.members_invite, name="members_invite"),
    path(PEOPLE + "members/<int:member_id>/link/", member_views.member_link, name="member_link"),
    path(
        PEOPLE + "offers/<int:offer_id>/withdraw/",
        offer_views.offer_withdraw,
        name="offer_withdraw",
    ),
    path(PEOPLE + "raters/<int:rater_id>/", member_views.rater_change, name="rater_change"),
]

"""URLs of project settings, members and API tokens."""

from django.urls import path

from projects.views import people, project_settings, questions, tokens

SETTINGS_PATH = "projects/<int:project_id>/settings/"
QUESTION_PATH = SETTINGS_PATH + "questions/<str:key>/"
PEOPLE_PATH = "projects/<int:project_id>/people/"

urlpatterns = [
    path("tokens/", tokens.manage_tokens, name="tokens"),
    path("tokens/<int:token_id>/revoke/", tokens.revoke_token, name="revoke_token"),
    path("offers/<int:offer_id>/", people.answer_offer, name="offer_answer"),
    path("projects/new/", project_settings.create_project, name="project_create"),
    path(
        "projects/guidelines-preview/",
        project_settings.preview_guidelines,
        name="guidelines_preview",
    ),
    path(SETTINGS_PATH, project_settings.change_settings, name="project_settings"),
    path(SETTINGS_PATH + "questions/", questions.list_questions, name="questions_settings"),
    path(
        SETTINGS_PATH + "guidelines/",
        project_settings.change_guidelines,
        name="guidelines_settings",
    ),
    path(SETTINGS_PATH + "checks/", project_settings.change_quality_checks, name="quality_checks"),
    path("projects/<int:project_id>/copy/", project_settings.copy_project, name="project_copy"),
    path(
        "projects/<int:project_id>/archive/",
        project_settings.archive_project,
        name="project_archive",
    ),
    path(SETTINGS_PATH + "approvals/", project_settings.list_approvals, name="approvals"),
    path(
        SETTINGS_PATH + "approvals/<int:approval_id>/",
        project_settings.decide_approval,
        name="approval_decide",
    ),
    path(
        SETTINGS_PATH + "new-question/",
        questions.add_question,
        name="question_create",
    ),
    path(QUESTION_PATH, questions.edit_question, name="question"),
    path(QUESTION_PATH + "weights/", questions.change_weights, name="question_weights"),
    path(QUESTION_PATH + "weights/check/", questions.preview_matrix, name="matrix_preview"),
    path(
        "projects/<int:project_id>/guidelines/", project_settings.show_guidelines, name="guidelines"
    ),
    path(
        "projects/<int:project_id>/guidelines/<int:number>/",
        project_settings.show_guidelines,
        name="guidelines_version",
    ),
    path(PEOPLE_PATH, people.list_people, name="people"),
    path(PEOPLE_PATH + "action/", people.run_bulk_action, name="people_action"),
    path(PEOPLE_PATH + "undo/", people.undo_action, name="people_undo"),
    path(PEOPLE_PATH + "add/", people.add_member, name="member_create"),
    path(PEOPLE_PATH + "invite/", people.invite_members, name="members_invite"),
    path(PEOPLE_PATH + "add-model/", people.add_model, name="model_create"),
    path(
        PEOPLE_PATH + "members/<int:member_id>/link/",
        people.create_member_link,
        name="member_link",
    ),
    path(
        PEOPLE_PATH + "offers/<int:offer_id>/withdraw/",
        people.withdraw_offer,
        name="offer_withdraw",
    ),
    path(PEOPLE_PATH + "raters/<int:rater_id>/", people.edit_rater, name="rater_edit"),
]

"""URLs of the inbox, raters' status, alerts, labels, review, plans, exams, gates and gold."""

from django.urls import path

from quality.alerts import views as alerts_views
from quality.exams import views as exams_views
from quality.gates import api as gates_api
from quality.gates import views as gates_views
from quality.gold import views as gold_views
from quality.inbox import views as inbox_views
from quality.labels import views as labels_views
from quality.planning import views as planning_views
from quality.rater_status import export_views, message_views
from quality.rater_status import views as rater_status_views
from quality.review import appeal_views, views

PROJECT = "projects/<int:project_id>/"
ITEM = f"{PROJECT}review/<int:item_id>/"
ALERT = f"{PROJECT}alerts/<int:alert_id>"
GATE = f"{PROJECT}gates/<str:gate_name>"

urlpatterns = [
    path("inbox/", inbox_views.show_inbox, name="inbox"),
    path("raters/", rater_status_views.show_all_raters, name="all_raters"),
    path("inbox/alerts/", inbox_views.act_on_entries, name="inbox_alerts"),
    path(f"{PROJECT}labels/", labels_views.show_labels, name="labels"),
    path(f"{PROJECT}labels/method/", labels_views.set_method, name="labels_method"),
    path(f"{PROJECT}labels/rules/", labels_views.edit_label_rules, name="label_rules"),
    path(f"{PROJECT}labels/confusions/", labels_views.show_confusions, name="label_confusions"),
    path(f"{PROJECT}labels.<slug:kind>", labels_views.export_labels, name="labels_file"),
    path(f"{PROJECT}plan/", planning_views.show_plan, name="plan"),
    path(f"{PROJECT}alerts/", alerts_views.show_alerts, name="alerts"),
    path(f"{PROJECT}alerts/settings/", alerts_views.edit_sensitivity, name="alert_settings"),
    path(f"{ALERT}/", alerts_views.show_alert, name="alert"),
    path(f"{ALERT}/step/", alerts_views.change_state, name="alert_step"),
    path(f"{ALERT}/chart.<slug:form>", alerts_views.export_chart, name="alert_chart"),
    path(f"{PROJECT}raters/", rater_status_views.show_raters, name="raters"),
    path(f"{PROJECT}raters.csv", export_views.export_raters, name="raters_file"),
    path(f"{PROJECT}funnel.<slug:file_format>", rater_status_views.export_funnel, name="funnel"),
    path(f"{PROJECT}rater-actions/", rater_status_views.run_rater_action, name="rater_actions"),
    path(f"{PROJECT}rater-messages/", message_views.send_message, name="rater_messages"),
    path(f"{PROJECT}review/", views.show_review, name="review"),
    path(f"{ITEM}decide/", views.submit_decision, name="review_decide"),
    path(f"{ITEM}postpone/", views.postpone_item, name="review_postpone"),
    path(f"{ITEM}example/", views.create_example, name="review_example"),
    path(f"{ITEM}gold/", views.create_gold, name="review_gold"),
    path(f"{ITEM}reveal-names/", views.reveal_rater_names, name="review_names"),
    path(f"{PROJECT}decisions/", appeal_views.show_own_decisions, name="own_decisions"),
    path(f"{PROJECT}decisions/<int:item_id>/", appeal_views.submit_appeal, name="decision_appeal"),
    path(
        f"{PROJECT}gold-appeals/<int:item_id>/",
        appeal_views.submit_gold_appeal,
        name="gold_appeal",
    ),
    path(f"{PROJECT}appeals/", appeal_views.show_appeals, name="appeals"),
    path(
        f"{PROJECT}appeals/<int:appeal_id>/",
        appeal_views.submit_appeal_answer,
        name="appeal_answer",
    ),
    path(f"{PROJECT}exam/", exams_views.show_own_exam, name="own_exam"),
    path(f"{PROJECT}exams/", exams_views.edit_exam_rules, name="exam_settings"),
    path(f"{PROJECT}exams/<int:rater_id>/", exams_views.submit_exam_action, name="exam_decide"),
    path(f"{PROJECT}gates/", gates_views.list_gates, name="gates"),
    path(f"{GATE}/", gates_views.show_gate, name="gate"),
    path(f"{GATE}/delete/", gates_views.delete_gate, name="gate_delete"),
    path(f"{GATE}/badge.svg", gates_api.GateBadgeView.as_view(), name="gate_badge"),
    path(".well-known/jwks.json", gates_api.serve_public_keys, name="public_keys"),
    path(f"{PROJECT}gold/", gold_views.show_gold, name="gold"),
    path(f"{PROJECT}gold/settings/", gold_views.change_rules, name="gold_settings"),
    path(
        f"{PROJECT}gold/interventions/<int:intervention_id>/",
        gold_views.submit_intervention,
        name="gold_intervention",
    ),
    path(f"{PROJECT}gold/raters/<int:rater_id>/", gold_views.show_rater, name="gold_rater"),
    path(f"{PROJECT}gold/items/<int:item_id>/", gold_views.submit_review, name="gold_review"),
]

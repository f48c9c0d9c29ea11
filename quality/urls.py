from django.urls import path

from quality.alerts import sensitivity_views
from quality.alerts import views as alerts_views
from quality.consensus import views as consensus_views
from quality.escalation import views as escalation_views
from quality.exams import views as exams_views
from quality.gold import views as gold_views
from quality.labels import views as labels_views
from quality.planning import views as planning_views
from quality.rater_status import export_views, message_views
from quality.rater_status import views as rater_status_views
from quality.review import appeal_views, views

PROJECT = "projects/<int:project_id>/"
ITEM = f"{PROJECT}adjudicate/<int:item_id>/"
ALERT = f"{PROJECT}alarms/<int:alarm_id>"

urlpatterns = [
    path(f"{PROJECT}labels/", labels_views.show_labels, name="labels"),
    path(f"{PROJECT}labels/method/", labels_views.set_method, name="labels_method"),
    path(f"{PROJECT}labels/rules/", escalation_views.edit_label_rules, name="label_rules"),
    path(f"{PROJECT}labels/raters/", consensus_views.show_confusions, name="labels_raters"),
    path(f"{PROJECT}labels.<slug:kind>", labels_views.export_labels, name="labels_file"),
    path(f"{PROJECT}plan/", planning_views.show_plan, name="plan"),
    path(f"{PROJECT}alarms/", alerts_views.show_alerts, name="alarms"),
    path(f"{PROJECT}alarms/rules/", sensitivity_views.edit_sensitivity, name="alarm_rules"),
    path(f"{ALERT}/", alerts_views.show_alert, name="alarm"),
    path(f"{ALERT}/step/", alerts_views.change_state, name="alarm_step"),
    path(f"{ALERT}/chart.<slug:form>", alerts_views.export_chart, name="alarm_chart"),
    path(f"{PROJECT}raters/", rater_status_views.show_raters, name="raters"),
    path(f"{PROJECT}raters.csv", export_views.export_raters, name="raters_file"),
    path(f"{PROJECT}funnel.<slug:form>", rater_status_views.export_funnel, name="funnel"),
    path(f"{PROJECT}triage/", rater_status_views.apply_action, name="raters_act"),
    path(f"{PROJECT}write/", message_views.send_message, name="raters_write"),
    path(f"{PROJECT}scorecard/", rater_status_views.redirect_old_url, name="scorecard"),
    path(f"{PROJECT}adjudicate/", views.show_review, name="adjudicate"),
    path(f"{ITEM}decide/", views.submit_decision, name="adjudicate_decide"),
    path(f"{ITEM}later/", views.postpone_item, name="adjudicate_later"),
    path(f"{ITEM}example/", views.create_example, name="adjudicate_example"),
    path(f"{ITEM}gold/", views.create_gold, name="adjudicate_gold"),
    path(f"{ITEM}names/", views.show_names, name="adjudicate_names"),
    path(f"{PROJECT}decisions/", appeal_views.show_own_decisions, name="decisions"),
    path(f"{PROJECT}decisions/<int:item_id>/", appeal_views.submit_appeal, name="contest"),
    path(
        f"{PROJECT}known-answers/<int:item_id>/",
        appeal_views.submit_gold_appeal,
        name="contest_gold",
    ),
    path(f"{PROJECT}appeals/", appeal_views.show_appeals, name="appeals"),
    path(f"{PROJECT}appeals/<int:appeal_id>/", appeal_views.submit_answer, name="appeal_answer"),
    path(f"{PROJECT}exam/", exams_views.show_own_exam, name="exam"),
    path(f"{PROJECT}exams/", exams_views.edit_exam_rules, name="exams"),
    path(f"{PROJECT}exams/<int:rater_id>/", exams_views.submit_decision, name="exam_decide"),
    path(f"{PROJECT}gold/", gold_views.show_gold, name="gold"),
    path(f"{PROJECT}gold/bar/", gold_views.set_pass_mark, name="gold_bar"),
    path(f"{PROJECT}gold/acts/<int:act_id>/", gold_views.submit_intervention, name="gold_act"),
    path(f"{PROJECT}gold/raters/<int:rater_id>/", gold_views.show_rater, name="gold_rater"),
    path(f"{PROJECT}gold/items/<int:item_id>/", gold_views.submit_review, name="gold_review"),
]

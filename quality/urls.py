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
ALARM = f"{PROJECT}alarms/<int:alarm_id>"

urlpatterns = [
    path(f"{PROJECT}labels/", labels_views.labels, name="labels"),
    path(f"{PROJECT}labels/method/", labels_views.choose_method, name="labels_method"),
    path(f"{PROJECT}labels/rules/", escalation_views.label_rules, name="label_rules"),
    path(f"{PROJECT}labels/raters/", consensus_views.habits, name="labels_raters"),
    path(f"{PROJECT}labels.<slug:kind>", labels_views.labels_file, name="labels_file"),
    path(f"{PROJECT}plan/", planning_views.plan, name="plan"),
    path(f"{PROJECT}alarms/", alerts_views.alarms, name="alarms"),
    path(f"{PROJECT}alarms/rules/", sensitivity_views.alarm_rules, name="alarm_rules"),
    path(f"{ALARM}/", alerts_views.alarm, name="alarm"),
    path(f"{ALARM}/step/", alerts_views.alarm_step, name="alarm_step"),
    path(f"{ALARM}/chart.<slug:form>", alerts_views.alarm_chart, name="alarm_chart"),
    path(f"{PROJECT}raters/", rater_status_views.raters, name="raters"),
    path(f"{PROJECT}raters.csv", export_views.raters_file, name="raters_file"),
    path(f"{PROJECT}funnel.<slug:form>", rater_status_views.funnel, name="funnel"),
    path(f"{PROJECT}triage/", rater_status_views.act, name="raters_act"),
    path(f"{PROJECT}write/", message_views.write, name="raters_write"),
    path(f"{PROJECT}scorecard/", rater_status_views.scorecard, name="scorecard"),
    path(f"{PROJECT}adjudicate/", views.adjudicate, name="adjudicate"),
    path(f"{ITEM}decide/", views.decide, name="adjudicate_decide"),
    path(f"{ITEM}later/", views.later, name="adjudicate_later"),
    path(f"{ITEM}example/", views.make_example, name="adjudicate_example"),
    path(f"{ITEM}gold/", views.make_gold, name="adjudicate_gold"),
    path(f"{ITEM}names/", views.names, name="adjudicate_names"),
    path(f"{PROJECT}decisions/", appeal_views.decisions, name="decisions"),
    path(f"{PROJECT}decisions/<int:item_id>/", appeal_views.contest, name="contest"),
    path(f"{PROJECT}known-answers/<int:item_id>/", appeal_views.contest_gold, name="contest_gold"),
    path(f"{PROJECT}appeals/", appeal_views.appeals, name="appeals"),
    path(f"{PROJECT}appeals/<int:appeal_id>/", appeal_views.answer, name="appeal_answer"),
    path(f"{PROJECT}exam/", exams_views.exam, name="exam"),
    path(f"{PROJECT}exams/", exams_views.exam_rules, name="exams"),
    path(f"{PROJECT}exams/<int:rater_id>/", exams_views.decide, name="exam_decide"),
    path(f"{PROJECT}gold/", gold_views.gold, name="gold"),
    path(f"{PROJECT}gold/bar/", gold_views.choose_bar, name="gold_bar"),
    path(f"{PROJECT}gold/acts/<int:act_id>/", gold_views.decide_act, name="gold_act"),
    path(f"{PROJECT}gold/raters/<int:rater_id>/", gold_views.rater, name="gold_rater"),
    path(f"{PROJECT}gold/items/<int:item_id>/", gold_views.review, name="gold_review"),
]

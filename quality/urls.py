from django.urls import path

from quality.pages import (
    adjudication_views,
    alarm_views,
    appeal_views,
    exam_views,
    gold_views,
    habit_views,
    label_views,
    plan_views,
    rater_file,
    rater_views,
    rule_views,
    sensitivity_views,
)

PROJECT = "projects/<int:project_id>/"
ITEM = f"{PROJECT}adjudicate/<int:item_id>/"
ALARM = f"{PROJECT}alarms/<int:alarm_id>"

urlpatterns = [
    path(f"{PROJECT}labels/", label_views.labels, name="labels"),
    path(f"{PROJECT}labels/method/", label_views.choose_method, name="labels_method"),
    path(f"{PROJECT}labels/rules/", rule_views.label_rules, name="label_rules"),
    path(f"{PROJECT}labels/raters/", habit_views.habits, name="labels_raters"),
    path(f"{PROJECT}labels.<slug:kind>", label_views.labels_file, name="labels_file"),
    path(f"{PROJECT}plan/", plan_views.plan, name="plan"),
    path(f"{PROJECT}alarms/", alarm_views.alarms, name="alarms"),
    path(f"{PROJECT}alarms/rules/", sensitivity_views.alarm_rules, name="alarm_rules"),
    path(f"{ALARM}/", alarm_views.alarm, name="alarm"),
    path(f"{ALARM}/step/", alarm_views.alarm_step, name="alarm_step"),
    path(f"{ALARM}/chart.<slug:form>", alarm_views.alarm_chart, name="alarm_chart"),
    path(f"{PROJECT}raters/", rater_views.raters, name="raters"),
    path(f"{PROJECT}raters.csv", rater_file.raters_file, name="raters_file"),
    path(f"{PROJECT}funnel.<slug:form>", rater_views.funnel, name="funnel"),
    path(f"{PROJECT}triage/", rater_views.act, name="raters_act"),
    path(f"{PROJECT}scorecard/", rater_views.scorecard, name="scorecard"),
    path(f"{PROJECT}adjudicate/", adjudication_views.adjudicate, name="adjudicate"),
    path(f"{ITEM}decide/", adjudication_views.decide, name="adjudicate_decide"),
    path(f"{ITEM}later/", adjudication_views.later, name="adjudicate_later"),
    path(f"{ITEM}example/", adjudication_views.make_example, name="adjudicate_example"),
    path(f"{ITEM}gold/", adjudication_views.make_gold, name="adjudicate_gold"),
    path(f"{ITEM}names/", adjudication_views.names, name="adjudicate_names"),
    path(f"{PROJECT}decisions/", appeal_views.decisions, name="decisions"),
    path(f"{PROJECT}decisions/<int:item_id>/", appeal_views.contest, name="contest"),
    path(f"{PROJECT}known-answers/<int:item_id>/", appeal_views.contest_gold, name="contest_gold"),
    path(f"{PROJECT}appeals/", appeal_views.appeals, name="appeals"),
    path(f"{PROJECT}appeals/<int:appeal_id>/", appeal_views.answer, name="appeal_answer"),
    path(f"{PROJECT}exam/", exam_views.exam, name="exam"),
    path(f"{PROJECT}exams/", exam_views.exam_rules, name="exams"),
    path(f"{PROJECT}exams/<int:rater_id>/", exam_views.decide, name="exam_decide"),
    path(f"{PROJECT}gold/", gold_views.gold, name="gold"),
    path(f"{PROJECT}gold/bar/", gold_views.choose_bar, name="gold_bar"),
    path(f"{PROJECT}gold/acts/<int:act_id>/", gold_views.decide_act, name="gold_act"),
    path(f"{PROJECT}gold/raters/<int:rater_id>/", gold_views.rater, name="gold_rater"),
    path(f"{PROJECT}gold/items/<int:item_id>/", gold_views.review, name="gold_review"),
]

from django.urls import path

from . import act_views, alarm_views, decision_views, exam_views, gold_views, views

QUALITY = "projects/<int:project_id>/quality/"

urlpatterns = [
    path("projects/<int:project_id>/labels/", views.Labels.as_view(), name="api-labels"),
    path(f"{QUALITY}alarms/", alarm_views.Alarms.as_view(), name="api-alarms"),
    path(f"{QUALITY}alarms/<int:alarm_id>/", alarm_views.OneAlarm.as_view(), name="api-alarm"),
    path(f"{QUALITY}rules/", decision_views.Rules.as_view(), name="api-rules"),
    path(f"{QUALITY}second/", decision_views.SecondOpinions.as_view(), name="api-second-opinions"),
    path(f"{QUALITY}appeals/", decision_views.Appeals.as_view(), name="api-appeals"),
    path(
        f"{QUALITY}appeals/<int:appeal_id>/", decision_views.OneAppeal.as_view(), name="api-appeal"
    ),
    path(f"{QUALITY}exam/", exam_views.ExamRulesView.as_view(), name="api-exam-rules"),
    path(f"{QUALITY}exams/", exam_views.Exams.as_view(), name="api-exams"),
    path(f"{QUALITY}acts/", act_views.Acts.as_view(), name="api-acts"),
    path(f"{QUALITY}acts/<int:act_id>/", act_views.OneAct.as_view(), name="api-act"),
    path(f"{QUALITY}gold/", gold_views.Golds.as_view(), name="api-golds"),
    path(f"{QUALITY}gold/<path:item_key>/", gold_views.OneGold.as_view(), name="api-gold"),
    path(f"{QUALITY}raters/", alarm_views.Scorecards.as_view(), name="api-scorecards"),
]

"""Add the kinds of alerts for newcomers below the team and for copies."""

from django.db import migrations, models

KINDS = [
    ("rater_drift", "rates otherwise than before"),
    ("rater_same_answer", "nearly always the same answer"),
    ("rater_fast", "far faster than the others"),
    ("rater_apart", "apart from the start"),
    ("newcomer_below", "newcomer below the team"),
    ("rater_copies", "two raters agree too often"),
    ("question_fell", "agreement of a question fell"),
    ("pair_diverged", "two raters moved apart"),
    ("category_collapsed", "a category does not hold any more"),
    ("ratings_missing", "ratings wanted per item are missing"),
    ("gold_suspected", "gold answers in doubt"),
]


class Migration(migrations.Migration):
    dependencies = [("quality", "0001_initial")]

    operations = [
        migrations.RemoveConstraint(model_name="alert", name="alert_kind_known"),
        migrations.AlterField(
            model_name="alert",
            name="kind",
            field=models.CharField(choices=[('rater_drift', 'Rating drift'), ('rater_same_answer', 'Repeated answer'), ('rater_fast', 'Too fast'), ('rater_apart', 'Low agreement'), ('newcomer_below', 'Newcomer below the team'), ('rater_copies', 'Pair agrees too often'), ('question_fell', 'Question agreement fell'), ('pair_diverged', 'Pair diverged'), ('category_collapsed', 'Category changed'), ('ratings_missing', 'Missing ratings'), ('gold_suspected', 'Suspected gold answers')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", [kind for kind, _label in KINDS])),
                name="alert_kind_known",
            ),
        ),
    ]

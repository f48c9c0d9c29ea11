"""Date items by their second rating, separately for people, models and both.

The counts of days stored before dated an item by its latest rating, also where a model gave it. So
every counted question is recounted from its ratings by the workers.
"""

from django.db import migrations, models


def request_recounts(apps, schema_editor):
    CountState = apps.get_model("metrics", "CountState")
    CountState.objects.filter(ratings__gt=0).update(needs_recount=True)


class Migration(migrations.Migration):
    dependencies = [
        ("metrics", "0001_initial"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="patterntally", name="pattern_tally_unique"),
        migrations.AddField(
            model_name="patterntally",
            name="population",
            field=models.CharField(
                choices=[
                    ("all", "all raters"),
                    ("people", "people"),
                    ("models", "models"),
                    ("between", "people with models"),
                ],
                db_default="all",
                default="all",
                max_length=7,
            ),
        ),
        migrations.AddConstraint(
            model_name="patterntally",
            constraint=models.UniqueConstraint(
                fields=("question", "day", "population"), name="pattern_tally_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="patterntally",
            constraint=models.CheckConstraint(
                condition=models.Q(("population__in", ["all", "people", "models", "between"])),
                name="pattern_tally_population_valid",
            ),
        ),
        migrations.RunPython(request_recounts, migrations.RunPython.noop, elidable=True),
    ]

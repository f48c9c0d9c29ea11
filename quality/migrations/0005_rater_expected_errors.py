"""Store the expected number of wrong ratings of each rater, by which raters are ranked."""

from typing import Any

from django.db import migrations, models


def request_recomputation(apps: Any, schema_editor: Any) -> None:
    """Make labels and gold scores outdated, so that the next sweep computes the new numbers."""
    for name in ("Consensus", "GoldState"):
        apps.get_model("quality", name).objects.update(input_version={})


class Migration(migrations.Migration):
    dependencies = [("quality", "0004_alert_impact")]

    operations = [
        migrations.AddField(
            model_name="raterconfusion",
            name="expected_errors",
            field=models.FloatField(db_default=0.0),
        ),
        migrations.RunPython(request_recomputation, migrations.RunPython.noop, elidable=True),
    ]

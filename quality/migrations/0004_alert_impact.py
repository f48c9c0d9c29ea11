"""Store the impact of alerts, the number by which raters and the inbox are ranked."""

from typing import Any

from django.db import migrations, models
from django.db.models import Case, F, Value, When
from django.db.models.functions import Abs, Least


def fill_impacts(apps: Any, schema_editor: Any) -> None:
    """Set the impact of existing alerts; raters' own impacts follow with their comparison."""
    share_wrong = Case(
        When(measure__in=("other_answers", "pace"), then=1.0 - F("size")),
        default=Least(Abs(F("size")), Value(1.0)),
    )
    apps.get_model("quality", "Alert").objects.update(impact=share_wrong * F("n"))


class Migration(migrations.Migration):
    dependencies = [("quality", "0003_gates")]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="impact",
            field=models.FloatField(db_default=0.0, default=0.0),
        ),
        migrations.RunPython(fill_impacts, migrations.RunPython.noop, elidable=True),
    ]

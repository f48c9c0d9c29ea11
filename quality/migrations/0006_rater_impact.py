"""Count near misses of raters in part, by the question's weights."""

from typing import Any

from django.db import migrations


def request_recomputation(apps: Any, schema_editor: Any) -> None:
    """Make labels outdated, so that the next sweep computes the new numbers."""
    apps.get_model("quality", "Consensus").objects.update(input_version={})


class Migration(migrations.Migration):
    dependencies = [("quality", "0005_rater_expected_errors")]

    operations = [
        migrations.RenameField("raterconfusion", "expected_errors", "impact"),
        migrations.RunPython(request_recomputation, migrations.RunPython.noop),
    ]

"""Pairs keep the intervals of their kappas, and a question what there is to say of its disagreement."""

import django.db.models.deletion
from django.db import migrations, models

KAPPAS = ("none", "linear", "quadratic", "custom")


def read_anew(apps, schema_editor):
    """Make every reading count as one of an older scale: the sweep fills in what is new."""
    apps.get_model("metrics", "CountState").objects.update(scale_version=0)


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "__first__"),
        ("metrics", "0013_asked"),
    ]

    operations = [
        *(
            migrations.AddField("pairtally", f"{part}_{name}", models.FloatField(null=True))
            for name in KAPPAS
            for part in ("low", "high")
        ),
        migrations.CreateModel(
            name="Diagnosis",
            fields=[
                (
                    "question",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="diagnosis",
                        serialize=False,
                        to="projects.question",
                    ),
                ),
                ("findings", models.JSONField(default=list)),
                ("disputes", models.JSONField(default=dict)),
                ("computed_at", models.DateTimeField()),
            ],
        ),
        migrations.RunPython(read_anew, migrations.RunPython.noop),
    ]

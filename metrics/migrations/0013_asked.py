"""Attributions and slices are asked for, claimed and kept in the same way: the same columns."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("metrics", "0012_rater_reading_spans")]

    operations = [
        migrations.AddField("attribution", "lease", models.CharField(blank=True, max_length=32, default=""), preserve_default=False),
        migrations.AddField("attribution", "leased_until", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("attribution", "rests_until", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("slice", "lease", models.CharField(blank=True, max_length=32, default=""), preserve_default=False),
        # What was claimed before the upgrade counts as free.
        migrations.RenameField("slice", "claimed_at", "leased_until"),
        migrations.AlterField("share", "lease", models.CharField(blank=True, max_length=32)),
        migrations.AlterField("share", "leased_until", models.DateTimeField(blank=True, null=True)),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ratings", "0005_label_studio_write_cursor")]

    operations = [
        migrations.AddField(
            "assignment", "resolved_at", models.DateTimeField(blank=True, null=True)
        ),
    ]

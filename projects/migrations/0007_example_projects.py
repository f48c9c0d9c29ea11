from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0006_approvals")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="is_example",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]

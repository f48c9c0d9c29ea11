"""Hide names on new links; existing links show them, as they did."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0003_items_and_raters_version")]

    operations = [
        migrations.AddField(
            model_name="sharelink",
            name="shows_names",
            field=models.BooleanField(default=True, db_default=True),
        ),
        migrations.AlterField(
            model_name="sharelink",
            name="shows_names",
            field=models.BooleanField(default=False, db_default=False),
        ),
    ]

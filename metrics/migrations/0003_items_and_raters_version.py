from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("metrics", "0002_trend_by_second_rating")]

    operations = [
        migrations.RenameField(
            model_name=model_name,
            old_name="catalogue_version",
            new_name="items_and_raters_version",
        )
        for model_name in ("countstate", "filteredresult")
    ]

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]

    operations = [
        migrations.RenameField(
            model_name="project",
            old_name="catalogue_version",
            new_name="items_and_raters_version",
        ),
    ]

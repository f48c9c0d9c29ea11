from django.conf import settings
from django.db import migrations

from core.db.create_models import build_squashed_operations


class Migration(migrations.Migration):
    replaces = [
        ("ratings", "0001_initial"),
        ("ratings", "0002_separate_data_folders"),
        ("ratings", "0003_rater_daily_goal"),
        ("ratings", "0004_label_studio"),
        ("ratings", "0005_label_studio_write_cursor"),
    ]
    dependencies = [
        ("projects", "0001_squashed_0008_idempotent_response_user"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

from django.conf import settings
from django.db import migrations

from core.db.create_models import build_squashed_operations


class Migration(migrations.Migration):
    replaces = [
        ("quality", "0001_initial"),
        ("quality", "0002_alert_kinds"),
        ("quality", "0003_gates"),
        ("quality", "0004_alert_impact"),
        ("quality", "0005_rater_expected_errors"),
        ("quality", "0006_rater_impact"),
        ("quality", "0007_rater_checks"),
        ("quality", "0008_alert_scan_next_day"),
    ]
    dependencies = [
        ("projects", "0009_project_tags"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

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
    ]
    dependencies = [
        ("projects", "0001_squashed_0008_idempotent_response_user"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

from django.conf import settings
from django.db import migrations

from core.db.create_models import build_squashed_operations


class Migration(migrations.Migration):
    replaces = [
        ("agreement_site", "0001_initial"),
        ("agreement_site", "0002_notifications"),
    ]
    dependencies = [
        ("projects", "0001_squashed_0008_idempotent_response_user"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

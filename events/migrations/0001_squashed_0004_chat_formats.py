from django.conf import settings
from django.db import migrations

from core.db.create_models import build_squashed_operations


class Migration(migrations.Migration):
    replaces = [
        ("events", "0001_initial"),
        ("events", "0002_feed"),
        ("events", "0003_webhooks"),
        ("events", "0004_chat_formats"),
    ]
    dependencies = [
        ("projects", "0001_squashed_0008_idempotent_response_user"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

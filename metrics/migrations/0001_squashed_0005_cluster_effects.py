from django.conf import settings
from django.db import migrations

from core.db.create_models import build_squashed_operations


class Migration(migrations.Migration):
    replaces = [
        ("metrics", "0001_initial"),
        ("metrics", "0002_trend_by_second_rating"),
        ("metrics", "0003_items_and_raters_version"),
        ("metrics", "0004_share_link_names"),
        ("metrics", "0005_cluster_effects"),
    ]
    dependencies = [
        ("projects", "0001_squashed_0008_idempotent_response_user"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

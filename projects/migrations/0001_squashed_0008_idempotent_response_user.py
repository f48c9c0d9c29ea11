from django.conf import settings
from django.db import migrations

from core.db.create_models import build_squashed_operations


class Migration(migrations.Migration):
    replaces = [
        ("projects", "0001_initial"),
        ("projects", "0002_items_and_raters_version"),
        ("projects", "0003_cluster_attribute"),
        ("projects", "0004_gold_tolerance"),
        ("projects", "0005_idempotent_responses"),
        ("projects", "0006_approvals"),
        ("projects", "0007_example_projects"),
        ("projects", "0008_idempotent_response_user"),
    ]
    dependencies = [
        # Tables that refer to users come before the tables of this site: Django renders all models
        # related to a changed one.
        ("account", "0009_emailaddress_unique_primary_email"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
        ("usersessions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = build_squashed_operations(replaces)

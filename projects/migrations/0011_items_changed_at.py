"""Nobody knows of older items when they were last changed: since they were made."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import F


def since_made(apps: Any, schema_editor: Any) -> None:
    apps.get_model("projects", "Item").objects.update(changed_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("projects", "0010_deletion_and_archive")]

    operations = [migrations.RunPython(since_made, migrations.RunPython.noop)]

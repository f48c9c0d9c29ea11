"""Guidelines that stand already become version 1, from now on: nobody knows what they said before."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.utils import timezone


def first_versions(apps: Any, schema_editor: Any) -> None:
    Project = apps.get_model("projects", "Project")
    GuidelineVersion = apps.get_model("projects", "GuidelineVersion")
    now = timezone.now()
    for project in Project.objects.exclude(guidelines="").only("id", "guidelines").iterator():
        GuidelineVersion.objects.create(project=project, number=1, text=project.guidelines, made_at=now)
        Project.objects.filter(pk=project.pk).update(guidelines_version=1)


class Migration(migrations.Migration):
    dependencies = [("projects", "0004_guideline_versions")]

    operations = [migrations.RunPython(first_versions, migrations.RunPython.noop)]

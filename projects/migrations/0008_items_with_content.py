"""Items that show something say so from now on."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from projects.models.item_content import has_content

AT_ONCE = 5_000  # items


def mark(apps: Any, schema_editor: Any) -> None:
    Item = apps.get_model("projects", "Item")
    last = 0
    while True:
        behind = Item.objects.filter(pk__gt=last).order_by("pk")
        rows = list(behind.values_list("pk", "body")[:AT_ONCE])
        if not rows:
            return
        first, last = rows[0][0], rows[-1][0]
        empty = [pk for pk, body in rows if not has_content(body)]
        whole = Item.objects.filter(pk__gte=first, pk__lte=last)
        whole.update(has_content=True)
        for start in range(0, len(empty), 500):
            Item.objects.filter(pk__in=empty[start : start + 500]).update(has_content=False)


class Migration(migrations.Migration):
    dependencies = [("projects", "0007_item_versions_and_gold")]

    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]

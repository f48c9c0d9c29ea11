"""Readings of raters' single days are read off the counts now: the stored ones go, a bite at a time.

Each bite is a transaction of its own, found by the primary key, so that millions of rows neither make one long
transaction nor one huge journal; whoever is interrupted begins again.
"""

from django.db import migrations
from django.db.models import Max

BITE = 20_000


def delete_days(apps, schema_editor):
    rows = apps.get_model('metrics', 'RaterReading').objects.using(schema_editor.connection.alias)
    last = rows.aggregate(last=Max('pk'))['last'] or 0
    for first in range(0, last, BITE):
        rows.filter(pk__gt=first, pk__lte=first + BITE, span='day').delete()


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('metrics', '0010_bootstrap'),
    ]

    operations = [
        migrations.RunPython(delete_days, migrations.RunPython.noop),
    ]

"""Readings of raters' weeks and months are read off the counts now, as those of their days: the stored ones go, a
bite at a time.

Each bite is a transaction of its own, found by the primary key, so that millions of rows neither make one long
transaction nor one huge journal; whoever is interrupted begins again. Nothing is stale of a single day any more.
"""

from django.db import migrations
from django.db.models import Max

BITE = 20_000
EVER = -(2**31)


def delete_periods(apps, schema_editor):
    connection = schema_editor.connection
    rows = apps.get_model('metrics', 'RaterReading').objects.using(connection.alias)
    last = rows.aggregate(last=Max('pk'))['last'] or 0
    for first in range(0, last, BITE):
        rows.filter(pk__gt=first, pk__lte=first + BITE).exclude(span='all').delete()
    tallies = apps.get_model('metrics', 'PeerTally').objects.using(connection.alias)
    tallies.filter(stale=True).exclude(day=EVER).update(stale=False)
    if connection.vendor == 'postgresql':
        # What stays is a row a rater: to write it anew takes no time, and gives back the room of the others.
        with connection.cursor() as cursor:
            cursor.execute('VACUUM FULL metrics_raterreading')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('metrics', '0019_what_was_drawn'),
    ]

    operations = [
        migrations.RunPython(delete_periods, migrations.RunPython.noop),
    ]

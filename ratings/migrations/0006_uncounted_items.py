"""PostgreSQL alone: notes of uncounted items instead of a partial index, and room for updates that touch no index.

The reasons are in ratings.services.uncounted. Half of each page is left free, so that the version of a rating that says what was
counted fits beside the first one; without it the table would grow as much, and its indexes too.
"""

from django.db import migrations, models

UNCOUNTED = "code <> counted OR day <> counted_day"
FORWARDS = (
    f"""
    CREATE FUNCTION ratings_note_uncounted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO ratings_uncounteditem (question_id, item_id, ratings)
            SELECT question_id, item_id, count(*) FROM changed WHERE {UNCOUNTED} GROUP BY question_id, item_id;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER rating_inserted AFTER INSERT ON ratings_rating
        REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ratings_note_uncounted()
    """,
    """
    CREATE TRIGGER rating_updated AFTER UPDATE ON ratings_rating
        REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ratings_note_uncounted()
    """,
    f"""
    INSERT INTO ratings_uncounteditem (question_id, item_id, ratings)
        SELECT question_id, item_id, count(*) FROM ratings_rating WHERE {UNCOUNTED} GROUP BY question_id, item_id
    """,
    "DROP INDEX rating_uncounted",
    "ALTER TABLE ratings_rating SET (fillfactor = 45)",
    # As many rows go as come: what is left of them is little, and to be cleared early.
    "ALTER TABLE ratings_uncounteditem SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)",
)
BACKWARDS = (
    "ALTER TABLE ratings_rating RESET (fillfactor)",
    f"CREATE INDEX rating_uncounted ON ratings_rating (question_id, item_id) WHERE {UNCOUNTED}",
    "DROP TRIGGER rating_inserted ON ratings_rating",
    "DROP TRIGGER rating_updated ON ratings_rating",
    "DROP FUNCTION ratings_note_uncounted()",
)


def forwards(apps, schema_editor):
    _execute(schema_editor, FORWARDS)


def backwards(apps, schema_editor):
    _execute(schema_editor, BACKWARDS)


def _execute(schema_editor, statements):
    if schema_editor.connection.vendor == "postgresql":
        for statement in statements:
            schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ("ratings", "0005_day_moves"),
    ]

    operations = [
        migrations.CreateModel(
            name="UncountedItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("question_id", models.BigIntegerField()),
                ("item_id", models.BigIntegerField()),
                ("ratings", models.IntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["question_id", "item_id"], name="uncounted_item")],
            },
        ),
        migrations.RunPython(forwards, backwards),
    ]

"""PostgreSQL alone: that what a rating and a line of its history refer to exists is seen to once a statement.

A foreign key looks once a row: with 10,000 ratings in a request, 50,000 look-ups at the commit, half of all that the
database does for them. These triggers give the same guarantee in the same way; ratings.models.Rating says why it holds.
"""

from django.db import migrations

MISSING = "RAISE foreign_key_violation USING MESSAGE = '{table} refers to a row of {parent} that does not exist'"
NEEDED = "RAISE foreign_key_violation USING MESSAGE = 'a row of {parent} is still referred to by {table}'"

# One statement for all rows asks for each parent once, and holds it until the transaction ends: nobody can delete it
# or give it another id. Who did so before is waited for, and then the row is not found.
# An index always: a plan made while the table was empty may be followed when it is full.
CHILD = """
    CREATE FUNCTION {table}_refers() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE
        wanted bigint[];
        held bigint;
    BEGIN
        {checks}
        RETURN NULL;
    END $$
    """
CHECK = """
        IF TG_LEVEL = 'ROW' THEN
            wanted := array_remove(ARRAY[NEW.{column}::bigint], NULL);
        ELSE
            wanted := ARRAY(SELECT DISTINCT {column} FROM changed WHERE {column} IS NOT NULL);
        END IF;
        IF wanted <> '{{}}' THEN
            PERFORM 1 FROM {parent} WHERE id = ANY(wanted) ORDER BY id FOR KEY SHARE;
            GET DIAGNOSTICS held = ROW_COUNT;
            IF held <> cardinality(wanted) THEN
                {missing};
            END IF;
        END IF;
    """
INSERTED = """
    CREATE TRIGGER {table}_refers AFTER INSERT ON {table}
        REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {table}_refers()
    """
UPDATED = """
    CREATE TRIGGER {table}_refers_anew AFTER UPDATE OF {columns} ON {table}
        FOR EACH ROW WHEN (({old}) IS DISTINCT FROM ({new})) EXECUTE FUNCTION {table}_refers()
    """
# At the end of the transaction, as the foreign key did: by then the row may be there again.
PARENT = """
    CREATE FUNCTION {table}_{column}_kept() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        IF TG_OP = 'TRUNCATE' THEN
            IF EXISTS (SELECT FROM {table} WHERE {column} IS NOT NULL) THEN
                {needed};
            END IF;
        ELSIF EXISTS (SELECT FROM {table} WHERE {column} = OLD.id)
            AND NOT EXISTS (SELECT FROM {parent} WHERE id = OLD.id)
        THEN
            {needed};
        END IF;
        RETURN NULL;
    END $$
    """
GONE = """
    CREATE CONSTRAINT TRIGGER {table}_{column}_gone AFTER DELETE OR UPDATE OF id ON {parent}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {table}_{column}_kept()
    """
EMPTIED = """
    CREATE TRIGGER {table}_{column}_emptied AFTER TRUNCATE ON {parent}
        FOR EACH STATEMENT EXECUTE FUNCTION {table}_{column}_kept()
    """


def references(apps):
    """Table -> column -> the table it refers to."""
    for name in ("Rating", "Revision"):
        meta = apps.get_model("ratings", name)._meta
        yield meta.db_table, {
            field.column: field.remote_field.model._meta.db_table for field in meta.fields if field.is_relation
        }


def forwards(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table, parents in references(apps):
        with schema_editor.connection.cursor() as cursor:
            constraints = schema_editor.connection.introspection.get_constraints(cursor, table)
        for name, constraint in constraints.items():
            if constraint["foreign_key"]:
                schema_editor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
        each = [{"table": table, "column": column, "parent": parent} for column, parent in parents.items()]
        checks = "".join(CHECK.format(**names, missing=MISSING.format(**names)) for names in each)
        schema_editor.execute(CHILD.format(table=table, checks=checks))
        schema_editor.execute(INSERTED.format(table=table))
        old, new = (", ".join(f"{row}.{column}" for column in parents) for row in ("OLD", "NEW"))
        schema_editor.execute(UPDATED.format(table=table, columns=", ".join(parents), old=old, new=new))
        for names in each:
            for statement in (PARENT, GONE, EMPTIED):
                schema_editor.execute(statement.format(**names, needed=NEEDED.format(**names)))


def backwards(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table, parents in references(apps):
        schema_editor.execute(f"DROP FUNCTION {table}_refers() CASCADE")
        for column, parent in parents.items():
            schema_editor.execute(f"DROP FUNCTION {table}_{column}_kept() CASCADE")
            schema_editor.execute(
                f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fk FOREIGN KEY ({column})"
                f" REFERENCES {parent} (id) DEFERRABLE INITIALLY DEFERRED"
            )


class Migration(migrations.Migration):

    dependencies = [
        ("ratings", "0006_uncounted_items"),
    ]

    operations = [
        migrations.RunPython(forwards, backwards),
    ]

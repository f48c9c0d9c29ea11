from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('metrics', '0011_no_rater_days'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='raterreading',
            name='rater_reading_span_known',
        ),
        migrations.AddConstraint(
            model_name='raterreading',
            constraint=models.CheckConstraint(condition=models.Q(('span__in', ['all', 'week', 'month'])), name='rater_reading_span_known'),
        ),
    ]

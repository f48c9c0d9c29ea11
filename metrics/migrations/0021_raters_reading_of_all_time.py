from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('metrics', '0020_no_rater_periods'),
        ('projects', '0021_hidden_raters'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='raterreading',
            options={},
        ),
        migrations.RemoveConstraint(
            model_name='raterreading',
            name='rater_reading_unique',
        ),
        migrations.RemoveConstraint(
            model_name='raterreading',
            name='rater_reading_span_known',
        ),
        # That the way back finds a value for the rows there are.
        migrations.AlterField(
            model_name='raterreading',
            name='span',
            field=models.CharField(max_length=5, default='all'),
        ),
        migrations.RemoveField(
            model_name='raterreading',
            name='span',
        ),
        migrations.RemoveField(
            model_name='raterreading',
            name='start',
        ),
        migrations.AddConstraint(
            model_name='raterreading',
            constraint=models.UniqueConstraint(fields=('question', 'rater'), name='rater_reading_unique'),
        ),
    ]

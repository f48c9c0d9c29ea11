"""Rename the labels of choices; stored codes stay the same."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('quality', '0002_alert_kinds'),
    ]

    operations = [
        migrations.AlterField(
            model_name='alert',
            name='cause',
            field=models.CharField(blank=True, choices=[('real', 'Confirmed'), ('not_rater', 'Not the rater’s fault'), ('explained', 'Other cause')], max_length=9),
        ),
        migrations.AlterField(
            model_name='alert',
            name='kind',
            field=models.CharField(choices=[('rater_drift', 'Rating drift'), ('rater_same_answer', 'Repeated answer'), ('rater_fast', 'Too fast'), ('rater_apart', 'Low agreement'), ('newcomer_below', 'Newcomer below the team'), ('rater_copies', 'Pair agrees too often'), ('question_fell', 'Question agreement fell'), ('pair_diverged', 'Pair diverged'), ('category_collapsed', 'Category changed'), ('ratings_missing', 'Missing ratings'), ('gold_suspected', 'Suspected gold answers')], max_length=20),
        ),
        migrations.AlterField(
            model_name='alert',
            name='measure',
            field=models.CharField(choices=[('agreement', 'Agreement with the others'), ('bias', 'Bias against the others'), ('other_answers', 'Share of other answers'), ('pace', 'Share of ratings with enough time'), ('category_share', 'Share of the category'), ('items', 'Number of items')], max_length=14),
        ),
        migrations.AlterField(
            model_name='alert',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('acknowledged', 'Investigating'), ('muted', 'Muted'), ('resolved', 'Resolved')], default='open', max_length=12),
        ),
        migrations.AlterField(
            model_name='alertsettings',
            name='sensitivity',
            field=models.CharField(choices=[('low', 'Low'), ('medium', 'Medium'), ('high', 'High')], default='low', max_length=6),
        ),
        migrations.AlterField(
            model_name='alertstep',
            name='cause',
            field=models.CharField(blank=True, choices=[('real', 'Confirmed'), ('not_rater', 'Not the rater’s fault'), ('explained', 'Other cause')], max_length=9),
        ),
        migrations.AlterField(
            model_name='alertstep',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('acknowledged', 'Investigating'), ('muted', 'Muted'), ('resolved', 'Resolved')], max_length=12),
        ),
        migrations.AlterField(
            model_name='appeal',
            name='about',
            field=models.CharField(choices=[('decision', 'Decision'), ('gold', 'Gold answer')], default='decision', max_length=8),
        ),
        migrations.AlterField(
            model_name='appeal',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('upheld', 'Accepted'), ('refused', 'Rejected')], default='open', max_length=7),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='method',
            field=models.CharField(choices=[('dawid_skene', 'Dawid–Skene (estimates each rater’s errors)'), ('weighted', 'Majority, weighted by rater skill'), ('majority', 'Majority, one vote per rater')], default='dawid_skene', max_length=11),
        ),
        migrations.AlterField(
            model_name='consensus',
            name='with_models',
            field=models.BooleanField(default=False, help_text='Count models as raters'),
        ),
        migrations.AlterField(
            model_name='driftstate',
            name='measure',
            field=models.CharField(blank=True, choices=[('agreement', 'Agreement with the others'), ('bias', 'Bias against the others'), ('other_answers', 'Share of other answers'), ('pace', 'Share of ratings with enough time'), ('category_share', 'Share of the category'), ('items', 'Number of items')], max_length=14),
        ),
        migrations.AlterField(
            model_name='escalation',
            name='reason',
            field=models.CharField(blank=True, choices=[('max_ratings', 'maximum ratings reached'), ('budget', 'budget used up'), ('no_rater', 'no rater left who has not rated it'), ('disabled', 'extra ratings switched off')], max_length=11),
        ),
        migrations.AlterField(
            model_name='escalation',
            name='state',
            field=models.CharField(choices=[('requested', 'Waiting for a rating'), ('certain', 'Became certain'), ('review', 'For review')], max_length=9),
        ),
        migrations.AlterField(
            model_name='goldintervention',
            name='step',
            field=models.CharField(choices=[('warn', 'Warning'), ('pause', 'Pause')], max_length=5),
        ),
        migrations.AlterField(
            model_name='goldreview',
            name='verdict',
            field=models.CharField(choices=[('keep', 'Kept'), ('retire', 'Retired')], max_length=6),
        ),
        migrations.AlterField(
            model_name='goldstate',
            name='rule',
            field=models.CharField(choices=[('off', 'Do nothing'), ('propose', 'Propose a warning or pause to the lead'), ('automatic', 'Warn or pause the rater immediately')], db_default='off', default='off', max_length=9),
        ),
        migrations.AlterField(
            model_name='itemlabel',
            name='source',
            field=models.CharField(choices=[('decision', 'Decision'), ('gold', 'Gold answer'), ('consensus', 'Ratings')], max_length=9),
        ),
    ]

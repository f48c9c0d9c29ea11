import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ratings', '0006_assignment_resolved_at'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ExportRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease', models.CharField(blank=True, max_length=32)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('kind', models.CharField(max_length=20)),
                ('file_format', models.CharField(max_length=20)),
                ('question_ids', models.JSONField(default=list)),
                ('filters', models.JSONField(default=dict)),
                ('last_id', models.BigIntegerField(default=0)),
                ('state', models.CharField(choices=[('pending', 'pending'), ('writing', 'exporting'), ('done', 'done'), ('failed', 'failed')], default='pending', max_length=8)),
                ('error', models.CharField(blank=True, choices=[('disk_full', "The server's disk is full."), ('error', 'The export failed.')], max_length=10)),
                ('folder', models.CharField(max_length=32)),
                ('path', models.CharField(blank=True, max_length=100)),
                ('file_name', models.CharField(max_length=255)),
                ('content_type', models.CharField(max_length=60)),
                ('rows_total', models.PositiveBigIntegerField(default=0)),
                ('rows_done', models.PositiveBigIntegerField(default=0)),
                ('bytes_written', models.PositiveBigIntegerField(default=0)),
                ('sections_done', models.PositiveIntegerField(default=0)),
                ('last_item_id', models.BigIntegerField(default=0)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to='projects.project')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'writing', 'done', 'failed'])), name='export_state_valid'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(models.Q(('path', ''), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='export_done_has_file')],
            },
        ),
    ]

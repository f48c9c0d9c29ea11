from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('events', '0003_webhooks')]

    operations = [
        migrations.AddField(
            model_name='webhook',
            name='format',
            field=models.CharField(choices=[('concord', 'Signed JSON (Standard Webhooks)'), ('slack', 'Slack'), ('teams', 'Microsoft Teams'), ('dingtalk', 'DingTalk'), ('feishu', 'Feishu'), ('wecom', 'WeCom')], db_default='concord', default='concord', max_length=8),
        ),
        migrations.AddField(
            model_name='webhook',
            name='language',
            field=models.CharField(blank=True, db_default='', default='', max_length=10),
        ),
        migrations.AddField(
            model_name='webhook',
            name='robot_secret',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('format__in', ['concord', 'slack', 'teams', 'dingtalk', 'feishu', 'wecom'])), name='webhook_format_valid'),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.CheckConstraint(condition=models.Q(('format__in', ['dingtalk', 'feishu']), ('robot_secret', ''), _connector='OR'), name='webhook_robot_secret_has_use'),
        ),
    ]

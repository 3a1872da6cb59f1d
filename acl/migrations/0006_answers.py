"""Who answered a request, and when; for those that have an answer, as the audit log knows it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FROM_THE_LOG = """
UPDATE acl_accessrequest request
SET answered_at = coalesce(entry.at, now()), answered_by_id = person.id
FROM acl_accessrequest known
LEFT JOIN LATERAL (
  SELECT at, by_id FROM acl_auditentry
  WHERE action = 'request.' || known.state AND target LIKE 'request ' || known.id || ' of %'
  ORDER BY id LIMIT 1
) entry ON true
LEFT JOIN auth_user person ON person.id = entry.by_id
WHERE known.id = request.id AND request.state <> 'open';
"""


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0005_invitation'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='accessrequest',
            name='answered_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='accessrequest',
            name='answered_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunSQL(FROM_THE_LOG, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='accessrequest',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('answered_at', None), ('answered_by', None), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('answered_at__isnull', False)), _connector='OR'), name='acl_accessrequest_answered'),
        ),
    ]

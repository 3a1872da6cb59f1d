"""The tools of an installation keep the order of their server's answer."""

from django.db import migrations, models
from django.db.models.lookups import IsNull

from acl.platform.ordered_json import AsJsonb, OrderedJSONField

TOOLS = OrderedJSONField(blank=True, default=list, help_text="What the server says it has.")
PLAIN = models.CheckConstraint(
    condition=models.Q(
        IsNull(AsJsonb(models.F("tools")), False), ("tools__isnull", True), _connector="OR"
    ),
    name="tools_are_plain",
)


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0013_needs_secret")]

    operations = [
        migrations.AlterField("installation", "tools", TOOLS),
        migrations.AddConstraint("installation", PLAIN),
    ]

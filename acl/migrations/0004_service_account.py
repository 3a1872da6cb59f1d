"""Users that are programs, and that never have a password."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

NO_PASSWORD = """
-- Django writes passwords that nothing fits with `!` in front.
CREATE FUNCTION acl_service_account_without_password() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM auth_user person JOIN acl_serviceaccount account ON account.user_id = person.id
    WHERE person.id = (to_jsonb(NEW) ->> CASE TG_TABLE_NAME WHEN 'auth_user' THEN 'id' ELSE 'user_id' END)::int
      AND person.password NOT LIKE '!%'
  ) THEN
    RAISE EXCEPTION 'a service account has no password' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER acl_service_account_password AFTER UPDATE OF password ON auth_user
  FOR EACH ROW WHEN (NEW.password NOT LIKE '!%' AND NEW.password <> OLD.password)
  EXECUTE FUNCTION acl_service_account_without_password();
CREATE TRIGGER acl_service_account_password AFTER INSERT OR UPDATE ON acl_serviceaccount
  FOR EACH ROW EXECUTE FUNCTION acl_service_account_without_password();
"""
ANY_PASSWORD = """
DROP TRIGGER acl_service_account_password ON auth_user;
DROP TRIGGER acl_service_account_password ON acl_serviceaccount;
DROP FUNCTION acl_service_account_without_password();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0003_every_group_has_a_root'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ServiceAccount',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='service_account', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('description', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.RunSQL(NO_PASSWORD, ANY_PASSWORD),
    ]

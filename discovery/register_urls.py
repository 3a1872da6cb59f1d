"""Where the pages about keys and the audit log live, for admins."""

from django.urls import path

from discovery.views import audit, keys

urlpatterns = [
    path("keys/", keys.keys, name="keys"),
    path("keys/new/", keys.new_key, name="key-new"),
    path("keys/<int:pk>/replace/", keys.replace_key, name="key-replace"),
    path("keys/<int:pk>/revoke/", keys.revoke, name="key-revoke"),
    path("audit/", audit.audit, name="audit"),
    path("audit/check/", audit.check, name="audit-check"),
    path("audit/export.csv", audit.export, {"kind": "csv"}, name="audit-csv"),
    path("audit/export.jsonl", audit.export, {"kind": "jsonl"}, name="audit-jsonl"),
]

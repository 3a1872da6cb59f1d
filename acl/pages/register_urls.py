"""URLs of the pages about keys and the audit log, for admins."""

from django.urls import path

from acl.pages import audit_pages, key_pages

urlpatterns = [
    path("keys/", key_pages.keys, name="keys"),
    path("keys/new/", key_pages.new_key, name="key-new"),
    path("keys/<int:pk>/replace/", key_pages.replace_key, name="key-replace"),
    path("keys/<int:pk>/revoke/", key_pages.revoke, name="key-revoke"),
    path("audit/", audit_pages.audit, name="audit"),
    path("audit/check/", audit_pages.check, name="audit-check"),
    path("audit/export.csv", audit_pages.export, {"kind": "csv"}, name="audit-csv"),
    path("audit/export.jsonl", audit_pages.export, {"kind": "jsonl"}, name="audit-jsonl"),
]

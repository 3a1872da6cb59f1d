"""URLs of the pages about people, keys and the audit log, of sign-in and accounts, and of OAuth.

The names of sign-in and account pages are those that allauth looks up. Its other pages have no URL,
so they do not exist: no sign-up, no sign-in by mail.
"""

from allauth.account import views as allauth_account
from allauth.mfa.base import views as allauth_codes
from allauth.socialaccount import views as allauth_provider
from django.contrib.auth.views import LogoutView
from django.urls import path, re_path

from acl.audit import pages as audit_pages
from acl.keys import pages as key_pages
from acl.oauth import api as oauth_api
from acl.oauth import pages as assistant_pages
from acl.people import account_pages
from acl.people import pages as people_pages
from acl.people.oidc import PROVIDER
from acl.web import help_pages

# Some places have two names: ours, and the one that allauth asks for.
urlpatterns = [
    path("people/", people_pages.people_list, name="people-list"),
    path("people/invite/", people_pages.invite_person, name="invite"),
    path(
        "people/invitations/<int:pk>/withdraw/",
        people_pages.withdraw_invitation,
        name="invitation-withdraw",
    ),
    path("people/sign-in-groups/", people_pages.sign_in_groups, name="sign-in-groups"),
    path(
        "people/sign-in-groups/<int:pk>/remove/",
        people_pages.remove_sign_in_group,
        name="sign-in-group-remove",
    ),
    path("people/<int:pk>/", people_pages.person, name="person"),
    path("people/<int:pk>/groups/", people_pages.join_group, name="person-join"),
    path(
        "people/<int:pk>/groups/<int:group_pk>/leave/",
        people_pages.leave_group,
        name="person-leave",
    ),
    path("people/<int:pk>/deactivate/", people_pages.deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate/", people_pages.reactivate, name="person-reactivate"),
    path("people/<int:pk>/codes/off/", people_pages.codes_off, name="person-codes-off"),
    path("access/groups/<int:pk>/people/", people_pages.add_members, name="group-people"),
    path("keys/", key_pages.keys, name="keys"),
    path("keys/new/", key_pages.new_key, name="key-new"),
    path("keys/<int:pk>/replace/", key_pages.replace_key, name="key-replace"),
    path("keys/<int:pk>/revoke/", key_pages.revoke, name="key-revoke"),
    path("audit/", audit_pages.audit, name="audit"),
    path("audit/check/", audit_pages.check, name="audit-check"),
    path("audit/export.csv", audit_pages.export, {"kind": "csv"}, name="audit-csv"),
    path("audit/export.jsonl", audit_pages.export, {"kind": "jsonl"}, name="audit-jsonl"),
    path("sign-in/", account_pages.SignIn.as_view(), name="account_login"),
    path("sign-in/", account_pages.SignIn.as_view(), name="login"),
    path("sign-in/code/", allauth_codes.authenticate, name="mfa_authenticate"),
    path("sign-in/forgotten/", allauth_account.password_reset, name="account_reset_password"),
    path(
        "sign-in/forgotten/sent/",
        allauth_account.password_reset_done,
        name="account_reset_password_done",
    ),
    re_path(
        r"^sign-in/forgotten/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account_pages.PasswordReset.as_view(),
        name="account_reset_password_from_key",
    ),
    path(
        "sign-in/forgotten/done/",
        allauth_account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path(f"sign-in/{PROVIDER}/", account_pages.provider_sign_in, name="provider-sign-in"),
    re_path(
        rf"^sign-in/(?P<provider_id>{PROVIDER})/callback/$",
        account_pages.provider_callback,
        name="openid_connect_callback",
    ),
    path(
        f"sign-in/{PROVIDER}/cancelled/",
        allauth_provider.login_cancelled,
        name="socialaccount_login_cancelled",
    ),
    path("sign-out/", LogoutView.as_view(), name="logout"),
    path("sign-out/", LogoutView.as_view(), name="account_logout"),
    path("invitation/<str:raw>/", account_pages.accept_invitation, name="invitation"),
    path("account/", account_pages.account, name="account"),
    path("account/", account_pages.account, name="mfa_index"),
    path("account/language/", account_pages.choose_language, name="choose-language"),
    path("help/", help_pages.help_page, name="help"),
    path("help/<slug:name>/", help_pages.help_page, name="help-page"),
    path("oauth/authorize", assistant_pages.authorize, name="oauth-authorize"),
    path("account/assistants/", assistant_pages.assistants, name="assistants"),
    path("account/confirm/", allauth_account.reauthenticate, name="account_reauthenticate"),
    path("account/confirm/code/", allauth_codes.reauthenticate, name="mfa_reauthenticate"),
    path("account/email/", account_pages.Addresses.as_view(), name="account_email"),
    re_path(
        r"^account/email/(?P<key>[-:\w]+)/$",
        allauth_account.confirm_email,
        name="account_confirm_email",
    ),
    path(
        "account/password/", account_pages.PasswordChange.as_view(), name="account_change_password"
    ),
    path(
        "account/password/first/", account_pages.PasswordSet.as_view(), name="account_set_password"
    ),
    path("account/codes/", account_pages.CodesOn.as_view(), name="mfa_activate_totp"),
    path("account/codes/off/", account_pages.CodesOff.as_view(), name="mfa_deactivate_totp"),
    path(
        "account/codes/lost/", account_pages.RecoveryCodes.as_view(), name="mfa_view_recovery_codes"
    ),
    path(
        "account/codes/lost/new/",
        account_pages.NewRecoveryCodes.as_view(),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "account/connections/",
        account_pages.Connections.as_view(),
        name="socialaccount_connections",
    ),
    # What programs call of the authorization server.
    path(".well-known/oauth-authorization-server", oauth_api.metadata, name="oauth-metadata"),
    path("oauth/register", oauth_api.register, name="oauth-register"),
    path("oauth/token", oauth_api.token, name="oauth-token"),
    path("oauth/revoke", oauth_api.revoke, name="oauth-revoke"),
]

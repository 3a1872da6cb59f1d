"""Checks of how people and mails get in and out: proxy, certificate, mail, sign-in."""

import socket
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from smtplib import SMTPException
from urllib.parse import urlsplit

from cryptography import x509
from django.conf import settings
from django.core.mail import get_connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from acl.people.groups import list_mapped_groups
from acl.platform.mail import delivers_mail
from marketplace.operate.checkup.registry import CheckFinding, check
from marketplace.operate.checkup.visits import newest_visit

SECONDS = 3.0
_OTHER_NAME = 62  # X509_V_ERR_HOSTNAME_MISMATCH
# Proxies renew when a third of the time is left: of a public one a month, of an internal one hours.
LEAST_LEFT, LEAST_SHARE = timedelta(days=14), 5


@check("proxy", gettext_lazy("Proxy"), topic="guide-operator#2-prepare-production")
def proxy() -> CheckFinding:
    """Look how the newest sign-in arrived: shared addresses, forged headers, no HTTPS."""
    visit = newest_visit()
    if visit is None:
        return CheckFinding(note=_("Nobody has signed in yet, so nothing is known of the proxy."))
    if visit.is_forwarded and not settings.PEGBOARD_TRUST_PROXY:
        return CheckFinding(
            _("Requests come through a proxy, whose address stands for everyone's: limits for an "
              "address apply to all together."),
            _("Set PEGBOARD_TRUST_PROXY=true, if the proxy sets X-Forwarded-For and -Proto anew."),
        )  # fmt: skip
    if settings.PEGBOARD_TRUST_PROXY and not (visit.is_forwarded and visit.scheme):
        return CheckFinding(
            _("PEGBOARD_TRUST_PROXY is set, but requests arrive without X-Forwarded-For or "
              "X-Forwarded-Proto: whoever sends them could claim any address."),
            _("Let the proxy set both anew for each request, and let nobody pass by it."),
        )  # fmt: skip
    if "https" in (visit.scheme, "https" if visit.is_secure else ""):
        if settings.SESSION_COOKIE_SECURE:
            return CheckFinding()
        return CheckFinding(
            _("Pages come by HTTPS, but cookies are not kept to it."), _("Set PEGBOARD_HTTPS=true.")
        )
    if _is_this_machine(visit.host):
        return CheckFinding(note=_("Pegboard is used on this machine only."))
    return CheckFinding(
        _("Passwords and keys travel to %(host)s without HTTPS.") % {"host": visit.host},
        _("Put a proxy with HTTPS in front, and set PEGBOARD_HTTPS and PEGBOARD_TRUST_PROXY."),
    )


def _is_this_machine(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


@check(
    "certificate",
    gettext_lazy("Certificate"),
    topic="guide-operator#2-prepare-production",
    goes_out=True,
)
def certificate() -> CheckFinding:
    """Look at the certificate of each address with HTTPS in `PEGBOARD_TRUSTED_ORIGINS`.

    It may end within 14 days or a fifth of its time, be for another name, or not be trusted here.
    """
    addresses = [urlsplit(origin) for origin in settings.CSRF_TRUSTED_ORIGINS]
    secure = [
        address for address in addresses if address.scheme == "https" and "*" not in address.netloc
    ]
    if not secure:
        return CheckFinding(note=_("No address with HTTPS is in PEGBOARD_TRUSTED_ORIGINS."))
    findings = [_certificate_of(address.hostname or "", address.port or 443) for address in secure]
    return min(findings, key=lambda finding: (not finding.problem, finding.is_advice))


def _certificate_of(name: str, port: int) -> CheckFinding:
    host, _colon, other_port = settings.PEGBOARD_PROXY_PLACE.rpartition(":")
    place = (host.strip("[]"), int(other_port)) if host else (name, port)
    facts = {"name": name, "place": f"{place[0]}:{place[1]}"}
    try:
        certificate = x509.load_der_x509_certificate(_handshake(place, name, trust_all=True))
    except OSError as error:
        problem = _("%(place)s shows no certificate for %(name)s: %(error)s.")
        remedy = _("Start the proxy. PEGBOARD_PROXY_PLACE names it as it is reached from here.")
        return CheckFinding(problem % (facts | {"error": error}), remedy, is_advice=True)
    remaining = certificate.not_valid_after_utc - datetime.now(UTC)
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    if remaining < min(LEAST_LEFT, lifetime / LEAST_SHARE):
        return _ending(name, remaining.days)
    try:
        _handshake(place, name, trust_all=False)
    except ssl.SSLCertVerificationError as error:
        problem = _("The certificate of %(name)s is not trusted here: %(error)s.")
        remedy = _("Let the proxy show one for this name, by an authority that clients know.")
        facts["error"] = error.verify_message
        return CheckFinding(problem % facts, remedy, is_advice=error.verify_code != _OTHER_NAME)
    note = ngettext("It ends in %(days)d day.", "It ends in %(days)d days.", remaining.days)
    return CheckFinding(note=note % {"days": remaining.days} if remaining.days else "")


def _ending(name: str, days: int) -> CheckFinding:
    remedy = _("Renew it, and look why the proxy does not do so by itself.")
    if days < 0:
        return CheckFinding(_("The certificate of %(name)s has ended.") % {"name": name}, remedy)
    problem = ngettext(
        "The certificate of %(name)s ends in %(days)d day.",
        "The certificate of %(name)s ends in %(days)d days.",
        days,
    )
    return CheckFinding(problem % {"name": name, "days": days}, remedy)


def _handshake(place: tuple[str, int], name: str, *, trust_all: bool) -> bytes:
    """Return the certificate that a server shows for a name."""
    context = ssl.create_default_context()
    if trust_all:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(place, timeout=SECONDS) as connection,
        context.wrap_socket(connection, server_hostname=name) as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""


@check("sign_in_groups", gettext_lazy("Groups by sign-in"), topic="people#openid-connect")
def sign_in_groups() -> CheckFinding:
    """Look for groups of `PEGBOARD_OIDC_GROUPS` that do not exist."""
    missing = sorted({pair.group for pair in list_mapped_groups() if not pair.exists})
    if not missing:
        return CheckFinding()
    problem = ngettext(
        "PEGBOARD_OIDC_GROUPS maps a group that does not exist: %(names)s.",
        "PEGBOARD_OIDC_GROUPS maps groups that do not exist: %(names)s.",
        len(missing),
    )
    remedy = _("Create it, or correct the setting. The page People, Groups by sign-in, has all.")
    return CheckFinding(problem % {"names": ", ".join(missing)}, remedy)


@check("mail", gettext_lazy("Mail"), topic="people#signing-in", goes_out=True)
def mail() -> CheckFinding:
    """Greet the mail server, without sending anything; no mail at all is advice."""
    if not delivers_mail():
        return CheckFinding(
            _("No mail is sent: invitations and new passwords are links that admins pass on."),
            _("Set PEGBOARD_EMAIL_URL."),
            is_advice=True,
        )
    server = get_connection(timeout=SECONDS)
    try:
        server.open()
        server.close()
    except (SMTPException, OSError) as error:
        problem = _("The mail server does not take our mails: %(error)s.")
        remedy = _("Correct PEGBOARD_EMAIL_URL, or let this process reach the server.")
        return CheckFinding(problem % {"error": str(error).rstrip(".")}, remedy)
    return CheckFinding()

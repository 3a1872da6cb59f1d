"""Reading of due icons: lease, fetch through the guarded door, draw in a cell, store.

Talks to addresses that strangers declare, so requests carry nothing of ours, follow redirects
within their origin only, and end early. A failure shows on the integration's page alone.
"""

import base64
import binascii
import hashlib
import struct
import zlib
from datetime import timedelta
from io import BytesIO
from urllib.parse import unquote_to_bytes

from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from acl.platform import strict_json
from acl.platform.back_off import BackOff
from acl.platform.jobs import GAVE_UP_MESSAGE, lock_unless_taken
from acl.platform.task_names import READ_ICON, SWEEP_ICONS, send_each
from catalog.formats.files import DEFAULT_LIMITS, RefusedError
from catalog.formats.icon_choice import SIDE
from catalog.formats.icon_pixels import PIXEL_BYTES
from catalog.models import IconImage, IconSource, Integration
from catalog.servers.client.reader_process import MB, ReaderBounds, read_apart
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.net.guarded_requests import Bounds, fetch

# Strangers' pictures, decoded apart: what comes back is so many pixels, or it is nothing.
#
# Pillow runs in the reader's cell only (`catalog/servers/client/reader_process.py`). Here the
# pixels are counted and written as a PNG of our own.

# A writer of PNG files: header, pixels, end. Nothing that came with a picture gets into one.

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGBA = 6  # the colour type in the header: colours and alpha


def write_png(pixels: bytes, *, side: int) -> bytes:
    """Return a square PNG of these RGBA pixels. ValueError if they are not that many."""
    row = side * 4
    if len(pixels) != row * side:
        raise ValueError("these are not the pixels of such a square")
    # Each line begins with its filter: "up", by which flat areas become zeros.
    lines = [pixels[at : at + row] for at in range(0, len(pixels), row)]
    filtered = b"".join(
        b"\x02" + bytes((now - above) & 0xFF for now, above in zip(line, before, strict=True))
        for line, before in zip(lines, [bytes(row), *lines[:-1]], strict=True)
    )
    header = struct.pack(">IIBBBBB", side, side, 8, _RGBA, 0, 0, 0)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(filtered, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checked)


_LONGEST_LINE = 1_000
_PICTURE_BOUNDS = ReaderBounds(
    seconds=30,
    cpu_seconds=10,
    memory_bytes=512 * MB,
    answer_bytes=PIXEL_BYTES + _LONGEST_LINE,
)
_ODD = "cannot be drawn: its reader gave an answer that is none"


def draw_picture(content: bytes, *, bounds: ReaderBounds = _PICTURE_BOUNDS) -> bytes:
    """Return the picture as a PNG of SIDE pixels. RefusedError says why it is not drawn."""
    answer = BytesIO()
    try:
        read_apart(content, {}, what="picture", bounds=bounds, into=answer)
    except ServerProblemError as problem:
        raise RefusedError(f"is not drawn: {problem.detail}") from None
    head, _, pixels = answer.getvalue().partition(b"\n")
    try:
        line = strict_json.parse_json(head.decode(), max_depth=2, any_text=True)
        reason = str(line.get("refused") or "")
        drawn = line.get("drawn") is True
    except (AttributeError, ValueError):
        raise RefusedError(_ODD) from None
    if reason or not drawn:
        raise RefusedError(reason[: DEFAULT_LIMITS.reason] or _ODD)
    try:
        return write_png(pixels, side=SIDE)
    except ValueError:
        raise RefusedError(_ODD) from None


State = IconSource.State
MOST_BYTES = 512 * 1024
AT_ONCE = 20  # of a sweep: a registry of thousands is read in the course of a day
FRESH = timedelta(days=30)
KEPT_UNUSED = timedelta(days=1)
_LEASE = timedelta(minutes=5)  # each attempt takes four times as long
_LONGEST_WAIT_DAYS = 30
_MOST_CRASHES = 3
_BOUNDS = Bounds(most_bytes=MOST_BYTES, seconds=15, redirects=3, same_origin=True)
_ACCEPT = {"accept": "image/png, image/webp, image/jpeg, image/gif, image/x-icon;q=0.8"}
SHOWN = ("clear", "approved")  # reviews of listings that everyone sees
_TEXTS = ("text/html", "text/plain", "application/json")


def due_icons() -> list[int]:
    """Return the keys of some icons that are due, those of integrations first."""
    due = _readable().filter(due_at__lte=Now())
    used = Exists(Integration.objects.filter(icon=OuterRef("pk")))
    first = due.annotate(used=used).order_by("-used", "due_at", "pk")
    return list(first.values_list("pk", flat=True)[:AT_ONCE])


@shared_task(name=READ_ICON)  # type: ignore[untyped-decorator]
def read_icon(pk: int) -> None:
    """Read an icon that is due; store its picture, or why there is none. Safe to run twice."""
    row = _lease(pk)
    if row is None:
        return
    if row.attempts > _MOST_CRASHES and row.state == State.WAITING:
        _fail(row, message=GAVE_UP_MESSAGE)
        return
    try:
        content = draw_picture(_content(row))
        image, _ = IconImage.objects.get_or_create(
            digest=hashlib.sha256(content).hexdigest(), defaults={"content": content}
        )
        _update(row, state=State.READY, problem="", image=image, attempts=0, due_at=Now() + FRESH)
    except RefusedError as refused:
        _fail(row, message=f"The picture {refused.reason}.")
    except OutgoingError as problem:
        _fail(row, message=str(problem))


def forget_unused_icons() -> None:
    """Delete addresses that nothing declares any more, and pictures that no address has."""
    before = Now() - KEPT_UNUSED
    # Listings are in an app above this one; their table refers to this one's.
    unused = IconSource.objects.filter(integrations=None, listings=None, created_at__lt=before)
    unused.delete()
    IconImage.objects.filter(sources=None, created_at__lt=before).delete()


def _readable() -> QuerySet[IconSource]:
    """Return icons that may be read.

    Nothing is asked of an address that only an unconfirmed import or a held listing has.
    """
    in_place = Q(address__startswith="data:")
    if not settings.PEGBOARD_FETCH_ICONS:
        return IconSource.objects.filter(in_place)
    confirmed = Integration.objects.filter(icon=OuterRef("pk"), unconfirmed=False)
    offered = IconSource.objects.filter(pk=OuterRef("pk"), listings__review__in=SHOWN)
    return IconSource.objects.filter(in_place | Exists(confirmed) | Exists(offered))


def _lease(pk: int) -> IconSource | None:
    """Take a row that is due and count the attempt, so that nobody else reads it meanwhile.

    Whoever ends the worker every time is read less and less often.
    """
    with transaction.atomic():
        row = lock_unless_taken(_readable().filter(pk=pk, due_at__lte=Now()))
        if row is None:
            return None
        wait = _LEASE * 4 ** min(row.attempts, 6)
        IconSource.objects.filter(pk=pk).update(attempts=F("attempts") + 1, due_at=Now() + wait)
        row.attempts += 1
        return row


def _content(row: IconSource) -> bytes:
    """Return the file. Raises RefusedError or OutgoingError."""
    if row.is_data:
        _, _, text = row.address.partition(",")
        try:
            return base64.b64decode(unquote_to_bytes(text), validate=True)
        except (binascii.Error, ValueError):
            raise RefusedError("is not written as base64") from None
    answer = fetch(row.address, headers=_ACCEPT, bounds=_BOUNDS)
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if answer.status != 200 or kind in _TEXTS:
        raise RefusedError("is not at its address")
    if kind.startswith("image/svg"):
        raise RefusedError("is a vector graphic, which is not drawn")
    return answer.body


def _fail(row: IconSource, *, message: str) -> None:
    """Store why, and when it is tried again. A picture of an earlier time stays."""
    wait = timedelta(days=BackOff(longest=_LONGEST_WAIT_DAYS, failures=row.attempts).pause)
    _update(row, state=State.FAILED, problem=message[:300], due_at=Now() + wait)


def _update(row: IconSource, **columns: object) -> None:
    IconSource.objects.filter(pk=row.pk).update(read_at=Now(), **columns)


@shared_task(name=SWEEP_ICONS)  # type: ignore[untyped-decorator]
def sweep_icons() -> None:
    """Send tasks for icons that are due, and delete what nobody needs any more."""
    send_each(READ_ICON, ([key] for key in due_icons()))
    forget_unused_icons()

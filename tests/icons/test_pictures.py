"""Pictures of strangers are decoded apart, and what comes back is drawn anew."""

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import SIDE
from catalog.formats.icon_pixels import PIXEL_BYTES, draw_pixels
from catalog.servers.client import reader_process
from catalog.servers.icons import _picture_reader
from catalog.servers.icons._picture_reader import draw_picture, write_png
from tests.icons.pictures import RED, animation, bomb, opened, picture, talkative, text_bomb

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
REFUSED = {
    "nothing": (b"", "is not a picture"),
    "text": (b"<html>", "is not a picture"),
    "vector graphic": (SVG, "is not a picture"),
    "another format": (picture("TIFF"), "is not a picture"),
    "half a file": (picture(size=(200, 200), colour=(1, 2, 3, 4))[:-30], "is not a picture"),
    "a bomb": (bomb(), "has more than 4,000,000 pixels"),
    "too many pixels": (picture(size=(2_001, 2_000)), "has more than 4,000,000 pixels"),
    "bomb of texts": (text_bomb(), "is not a picture"),
    "tiny": (picture(size=(7, 7)), "is smaller than 8 pixels"),
    "a strip": (picture(size=(400, 40)), "is too long for an icon"),
    "nothing to see": (picture(colour=(9, 9, 9, 0)), "shows nothing"),
}


@pytest.mark.processes
def test_picture_drawn_apart_has_the_same_pixels_as_here(settings: Settings) -> None:
    settings.PEGBOARD_CELL = "preferred"
    given = picture("WEBP", size=(300, 150), lossless=True)

    drawn = draw_picture(given)

    image = opened(drawn)
    assert (image.size, image.mode) == ((SIDE, SIDE), "RGBA")
    assert image.tobytes() == draw_pixels(given)
    assert image.getpixel((32, 32)) == RED
    assert image.getpixel((32, 5)) == (0, 0, 0, 0)  # beside a wide picture nothing is drawn


@pytest.mark.processes
def test_reader_ends_within_its_memory_whatever_it_is_given(settings: Settings) -> None:
    settings.PEGBOARD_CELL = "preferred"
    for given, reason in (REFUSED["a bomb"], REFUSED["bomb of texts"], REFUSED["text"]):
        with pytest.raises(RefusedError) as refused:
            draw_picture(given)

        assert refused.value.reason.startswith(reason)


@pytest.mark.processes
def test_no_picture_is_drawn_where_cells_are_required_and_missing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "required"
    monkeypatch.setattr(reader_process, "cell_problem", lambda: "No namespace")

    with pytest.raises(RefusedError) as refused:
        draw_picture(picture())

    assert "No namespace" in refused.value.reason


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "ICO"])
def test_usual_kinds_are_drawn(kind: str) -> None:
    options: dict[str, Any] = {"sizes": [(48, 48)]} if kind == "ICO" else {}

    pixels = draw_pixels(picture(kind, size=(48, 48), **options))

    assert len(pixels) == PIXEL_BYTES
    red, green, blue, alpha = pixels[PIXEL_BYTES // 2 : PIXEL_BYTES // 2 + 4]
    assert red > 150 > green
    assert (blue < 90, alpha) == (True, 255)


def test_of_an_animation_the_first_frame_is_drawn() -> None:
    pixels = draw_pixels(animation())

    assert pixels[:4] == bytes(RED)


def test_nothing_but_pixels_of_a_file_remains() -> None:
    png = write_png(draw_pixels(talkative()), side=SIDE)

    assert b"SECRET" not in png
    assert b"script" not in png
    assert opened(png).info == {}
    assert png.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused(name: str) -> None:
    given, reason = REFUSED[name]

    with pytest.raises(RefusedError) as refused:
        draw_pixels(given)

    assert refused.value.reason.startswith(reason)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\n",
        b"[]\n",
        b"{}\n",
        b'{"drawn":1}\n' + bytes(PIXEL_BYTES),
        b'{"drawn":true}\n',
        b'{"drawn":true}\n' + bytes(PIXEL_BYTES - 1),
        b'{"drawn":true}\n' + bytes(PIXEL_BYTES + 1),
        b"\xff\n" + bytes(PIXEL_BYTES),
    ],
)
def test_a_broken_reader_yields_no_picture(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(_picture_reader, "read_apart", lambda *_, into, **__: into.write(said))

    with pytest.raises(RefusedError) as refused:
        draw_picture(b"any")

    assert "an answer that is none" in refused.value.reason


def test_written_pictures_are_read_by_others_pixel_by_pixel() -> None:
    pixels = bytes(number * 7 % 256 for number in range(PIXEL_BYTES))

    png = write_png(pixels, side=SIDE)

    assert opened(png).tobytes() == pixels
    with pytest.raises(ValueError, match="not the pixels"):
        write_png(pixels[:-4], side=SIDE)

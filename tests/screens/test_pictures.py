"""Pictures that cannot rot: the README's answer and picture, and how the ten main pages look.

They are of a fresh installation. With PEGBOARD_TEST_PICTURES, as `make pictures` sets it, they are
written anew before they are compared.
"""

import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from catalog.embedding.shipped_model import prepare_model
from discovery.playground.page import hide_steps
from discovery.select.example_texts import warm_common_abilities
from discovery.select.judgements import warm_small_talk
from marketplace.listings.search import embed_listings
from marketplace.listings.store import store_listings
from marketplace.offers.kinds.starter import starter_listings
from tests.pages.conftest import page as page
from tests.pages.conftest import sign_in
from tests.pages.pictures import FOLDER
from tests.web.conftest import new_key

README, PICTURE = Path("README.md"), Path("docs/images/playground.png")
SHEET = Path(__file__).with_name("main_pages.png")
_BODY = re.compile(r"-d '(\{\"message\": [^\n]+\})'\n```")
_ANSWER = re.compile(r"(The answer, shortened:\n\n```\n)(.*?)(\n```\n)", re.DOTALL)
MAIN_PAGES = (
    "/today/",
    "/?message=what+time+is+it+in+Tokyo",
    "/tools/",
    "/tools/connect/",
    "/marketplace/",
    "/approvals/",
    "/access/",
    "/integrations/",
    "/calls/",
    "/insights/",
)
WIDE, NARROW = (1440, 900), (390, 844)
WINDOWS = [(size, theme) for size in (WIDE, NARROW) for theme in ("light", "dark")]
# A cell of the sheet is a square of the page: letters blur in it, and what moved or changed its
# colour does not. The times of a page and a font's own pixels differ in some.
CELL = {WIDE: 20, NARROW: 10}
MOST_UNLIKE, MOST_CELLS = 8, 0.02  # of 255 shades; of all cells of a picture


@pytest.fixture
def admin(transactional_db: None) -> User:
    """The first admin of a fresh installation."""
    prepare_model(settings.PEGBOARD_MODEL_DIR)
    call_command("load_starter", group="everyone", verbosity=0)
    call_command("embed_pending", verbosity=0)
    store_listings(starter_listings(), source="starter")
    embed_listings()
    warm_small_talk()
    warm_common_abilities()
    admin = User.objects.create_superuser("admin", password="correct horse battery")
    admin.groups.set(Group.objects.all())
    hide_steps(user=admin, hidden=True)
    return admin


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_readme_and_main_pages_are_as_the_product_answers(
    page: Page,
    admin: User,
    live_server: LiveServer,
) -> None:
    [sent] = _BODY.findall(README.read_text("utf-8"))
    answer = _answer_of(json.loads(sent))
    sign_in(page, admin, live_server)
    if FOLDER:
        text = README.read_text("utf-8")
        README.write_text(_ANSWER.sub(lambda old: old[1] + _short(answer) + old[3], text), "utf-8")
        _take_the_readmes_picture(page, json.loads(sent)["message"], answer)
    sheet = dict(_look_at_main_pages(page))
    if FOLDER:
        _write_sheet(sheet)

    kept = README.read_text("utf-8")
    assert _short(answer) in kept, "run make pictures"
    assert json.loads(Image.open(PICTURE).info["Pegboard"]) == _figures(answer), "make pictures"
    unlike = {name: share for name, share in _compare(sheet) if share > MOST_CELLS}
    assert unlike == {}, "look at them, and run make pictures"
    # A page without its rail, or in the other theme, is found.
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.evaluate("document.querySelector('.rail').remove()")
    name = f"{MAIN_PAGES[-1]} 1440 light"
    assert dict(_compare({name: _cells(page, WIDE)}))[name] > MOST_CELLS
    dark = {name: sheet[name.replace("light", "dark")]}
    assert dict(_compare(dark))[name] > MOST_CELLS


def _answer_of(body: dict[str, Any]) -> dict[str, Any]:
    key = new_key(Group.objects.get(name="everyone"), "select")
    answer = Client().post(
        "/api/v1/select",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )
    return dict(answer.json())


def _short(answer: dict[str, Any]) -> str:
    """Return the answer as the README has it: the first tool, and the figures."""
    first = answer["selected"][0]
    shortened = {name: first[name] for name in ("id", "full_name", "score", "reasons", "access")}
    tool = json.dumps(shortened, indent=2, ensure_ascii=False).splitlines()
    lines = ["{", '  "selected": [', *(f"    {line}" for line in tool[:-1])]
    lines[-1] += ","
    lines += ["      …", "    },", "    …", "  ],"]
    for name in ("excluded_count", "reason", "degraded", "tokens"):
        lines.append(f'  "{name}": {json.dumps(answer[name], ensure_ascii=False)},')
    prompt = json.dumps(answer["prompt"].partition("\n")[0] + "\n- …", ensure_ascii=False)
    tools = f'{{"name": "{answer["tools"][0]["name"]}", "description": "…", "input_schema": {{…}}}}'
    return "\n".join(
        [*lines, f'  "prompt": {prompt},', f'  "tools": [{tools}, …],', '  "timings": {…}', "}"]
    )


def _figures(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what a reader sees in the picture: names, scores and tokens."""
    rows = [[row["full_name"], f"{row['score']:.2f}"] for row in answer["selected"]]
    tokens = answer["tokens"]
    return {"rows": rows, "tokens": [tokens["selected"], tokens["all"]]}


def _take_the_readmes_picture(page: Page, message: str, answer: dict[str, Any]) -> None:
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.goto(f"/?{urlencode({'message': message})}")
    page.locator(".chosen-row summary").first.click()
    about = PngInfo()
    about.add_text("Pegboard", json.dumps(_figures(answer)))
    with Image.open(BytesIO(page.screenshot())) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
            PICTURE, pnginfo=about, optimize=True
        )


def _look_at_main_pages(page: Page) -> Iterator[tuple[str, Image.Image]]:
    for place in MAIN_PAGES:
        page.goto(place)
        for size, theme in WINDOWS:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            yield f"{place} {size[0]} {theme}", _cells(page, size)


def _cells(page: Page, size: tuple[int, int]) -> Image.Image:
    with Image.open(BytesIO(page.screenshot())) as picture:
        cell = CELL[size]
        box = Image.Resampling.BOX
        return picture.convert("L").resize((size[0] // cell, size[1] // cell), box)


def _places() -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """Yield the name of each picture and its place in the sheet: a row for each page."""
    top = 0
    for place in MAIN_PAGES:
        left = 0
        for size, theme in WINDOWS:
            width, height = (edge // CELL[size] for edge in size)
            yield f"{place} {size[0]} {theme}", (left, top, left + width, top + height)
            left += width
        top += NARROW[1] // CELL[NARROW]


def _write_sheet(pictures: dict[str, Image.Image]) -> None:
    boxes = dict(_places())
    right, bottom = (max(box[edge] for box in boxes.values()) for edge in (2, 3))
    sheet = Image.new("L", (right, bottom), 255)
    for name, box in boxes.items():
        sheet.paste(pictures[name], box[:2])
    sheet.save(SHEET, optimize=True)


def _compare(pictures: dict[str, Image.Image]) -> Iterator[tuple[str, float]]:
    """Yield the share of cells of each picture that are unlike those of the sheet."""
    with Image.open(SHEET) as sheet:
        for name, box in _places():
            if name in pictures:
                difference = ImageChops.difference(pictures[name], sheet.convert("L").crop(box))
                cells = difference.histogram()
                yield name, sum(cells[MOST_UNLIKE:]) / sum(cells)

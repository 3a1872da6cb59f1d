"""Made-up answers of nothing but values, which cost most to digest."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

_MONTHS = ("January", "February", "March", "May", "June", "July", "August", "September", "October")


def value_answers(characters: int) -> dict[str, str]:
    """Return an answer of each kind, of so many characters."""
    random = Random(2)
    words = ["".join(random.choices("abcdefghijklmnop", k=5)) for _ in range(2000)]

    def number() -> str:
        return f"{random.randint(0, 10 ** random.randint(1, 8)) / 100}"

    def day() -> str:
        year, month = random.randint(1990, 2030), random.randint(1, 12)
        return f"{year}-{month:02}-{random.randint(1, 28):02}"

    def record() -> dict[str, Any]:
        name = f"{random.choice(words)} {random.choice(words)}".title()
        amount = random.randint(100, 999999) / 100
        return {"id": f"ID-{random.randint(1000, 99999)}", "on": day(), "sum": amount, "name": name}

    def link() -> str:
        site, page = random.choice(words), random.choice(words)
        return f"https://www.{site}.example/{page}/{random.randint(1, 999)}?q={page}"

    def moment() -> str:
        return f"{day()}T{random.randint(10, 23)}:{random.randint(10, 59)}:00Z"

    def named_day() -> str:
        return f"{random.randint(1, 28)} {random.choice(_MONTHS)} {random.randint(1990, 2030)}"

    def german_day() -> str:
        return f"{random.randint(1, 28)}.{random.randint(1, 12)}.{random.randint(1990, 2030)}"

    def phone() -> str:
        return f"+49 ({random.randint(10, 999)}) {random.randint(100, 999)}-{day()[:4]}"

    return {
        "numbers, as JSON": _listed(lambda: float(number()), characters),
        "numbers, as text": _joined(number, " ", characters),
        "numbers between commas": _joined(lambda: number().replace(".", ""), ",", characters),
        "records of ids, dates, amounts and names": _listed(record, characters),
        "links": _listed(link, characters),
        "times with dates": _listed(moment, characters),
        "dates": _joined(day, ", ", characters),
        "dates with a month's name": _joined(named_day, "; ", characters),
        "dates with points": _joined(german_day, " ", characters),
        "phone numbers": _joined(phone, ", ", characters),
    }


def _listed(make: Callable[[], Any], characters: int) -> str:
    found: list[Any] = []
    size = 0
    while size < characters:
        found.append(make())
        size += len(json.dumps(found[-1])) + 2
    return json.dumps(found)


def _joined(make: Callable[[], str], between: str, characters: int) -> str:
    found: list[str] = []
    size = 0
    while size < characters:
        found.append(make())
        size += len(found[-1]) + len(between)
    return between.join(found)

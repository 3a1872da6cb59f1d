"""Units: exact factors of measures, and conversion between those of one kind."""

from dataclasses import dataclass
from decimal import Decimal, localcontext

from catalog.built_ins.base import RowOwner, Toolbox, ToolError, plain_number
from catalog.formats.descriptors import JSONObject

SLUG = "units"
TOOLS = Toolbox()
DIGITS = 50
_MOST_SHOWN = 12

# A line for each unit: its factor to the first one of its kind, and its names. Two numbers divided
# by "/" are a quotient; after "@" stands what is added before the factor applies.
_TABLE = """
length: m metre metres meter meters | 1000 km kilometre kilometres kilometer kilometers | 0.01 cm centimetre centimetres centimeter centimeters | 0.001 mm millimetre millimetres millimeter millimeters | 0.000001 µm um micrometre micrometres micrometer micrometers | 0.000000001 nm nanometre nanometres | 0.0254 in inch inches | 0.3048 ft foot feet | 0.9144 yd yard yards | 1609.344 mi mile miles | 1852 nmi nautical_mile nautical_miles
mass: kg kilogram kilograms kilo kilos | 0.001 g gram grams | 0.000001 mg milligram milligrams | 1000 t tonne tonnes metric_ton metric_tons | 0.45359237 lb lbs pound pounds | 0.028349523125 oz ounce ounces | 6.35029318 st stone stones | 907.18474 ton tons short_ton short_tons
volume: l litre litres liter liters | 0.001 ml millilitre millilitres milliliter milliliters | 0.01 cl centilitre centilitres | 0.1 dl decilitre decilitres | 1000 m3 m³ cubic_metre cubic_metres cubic_meter cubic_meters | 0.001 cm3 cm³ | 3.785411784 gal gallon gallons | 4.54609 imperial_gallon imperial_gallons | 0.946352946 qt quart quarts | 0.473176473 pt pint pints | 0.56826125 imperial_pint imperial_pints | 0.2365882365 cup cups | 0.0295735295625 fl_oz fluid_ounce fluid_ounces | 0.01478676478125 tbsp tablespoon tablespoons | 0.00492892159375 tsp teaspoon teaspoons
area: m2 m² square_metre square_metres square_meter square_meters | 1000000 km2 km² square_kilometre square_kilometres | 0.0001 cm2 cm² | 10000 ha hectare hectares | 4046.8564224 acre acres | 0.09290304 ft2 ft² square_foot square_feet | 0.00064516 in2 in² square_inch square_inches | 2589988.110336 mi2 square_mile square_miles
speed: m/s | 1/3.6 km/h kmh kph | 0.44704 mph | 1852/3600 kn knot knots | 0.3048 ft/s
time: s sec second seconds | 0.001 ms millisecond milliseconds | 60 min minute minutes | 3600 h hr hour hours | 86400 d day days | 604800 week weeks | 31556952 year years | 2629746 month months
temperature: K kelvin | 1@273.15 °C C celsius degC | 5/9@459.67 °F F fahrenheit degF
data: byte bytes B | 0.125 bit bits | 1000 kB KB kilobyte kilobytes | 1000000 MB megabyte megabytes | 1000000000 GB gigabyte gigabytes | 1000000000000 TB terabyte terabytes | 1024 KiB kibibyte kibibytes | 1048576 MiB mebibyte mebibytes | 1073741824 GiB gibibyte gibibytes | 1099511627776 TiB tebibyte tebibytes | 125 kbit kilobit kilobits | 125000 Mbit megabit megabits | 125000000 Gbit gigabit gigabits
energy: J joule joules | 1000 kJ kilojoule kilojoules | 4.184 cal calorie calories | 4184 kcal kilocalorie kilocalories | 3600 Wh watt_hour watt_hours | 3600000 kWh kilowatt_hour kilowatt_hours | 1055.05585262 BTU btu
power: W watt watts | 1000 kW kilowatt kilowatts | 1000000 MW megawatt megawatts | 745.69987158227022 hp horsepower | 735.49875 PS
pressure: Pa pascal pascals | 100 hPa hectopascal | 1000 kPa kilopascal | 100000 bar bars | 101325 atm atmosphere atmospheres | 6894.757293168 psi | 101325/760 mmHg torr
angle: deg ° degree degrees | 180/3.14159265358979323846264338327950288 rad radian radians | 0.9 gon
"""  # noqa: E501 - a table


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its kind, the name it is digits by, and what turns it into the first of its kind."""

    kind: str
    name: str
    factor: Decimal
    added: Decimal

    def to_base(self, number: Decimal) -> Decimal:
        """Return the number in the first unit of the kind."""
        return (number + self.added) * self.factor

    def from_base(self, number: Decimal) -> Decimal:
        """Return a number of the first unit of the kind in this one."""
        return number / self.factor - self.added


def read_table() -> dict[str, Unit]:
    """Return the units of the table by all of their names."""
    units: dict[str, Unit] = {}
    with localcontext(prec=DIGITS):
        for line in _TABLE.strip().splitlines():
            kind, _, row = line.partition(": ")
            for position, text in enumerate(row.split(" | ")):
                words = text.split() if position else ["1", *text.split()]
                quotient, _, added = words[0].partition("@")
                over, _, under = quotient.partition("/")
                factor = Decimal(over) / Decimal(under or 1)
                unit = Unit(kind, words[1], factor, Decimal(added or 0))
                units |= dict.fromkeys(words[1:], unit)
    return units


UNITS = read_table()
# `MB` and `mb` differ for those who know; where only one spelling exists, the other means it.
_ANY_CASE = {name.casefold(): unit for name, unit in reversed(UNITS.items())}


def find_unit(text: str) -> Unit | None:
    """Return the unit of that name or sign, or None."""
    name = "_".join(text.strip().rstrip(".").split())
    return UNITS.get(name) or _ANY_CASE.get(name.casefold())


def require_unit(text: str) -> Unit:
    """Return the unit; ToolError if there is none of that name."""
    if unit := find_unit(text):
        return unit
    names = dict.fromkeys(unit.name for unit in UNITS.values())
    raise ToolError(f"There is no unit '{text[:40]}'. Known are: {', '.join(names)}.")


def convert(number: Decimal, source: Unit, target: Unit) -> Decimal:
    """Return the number in the other unit; ToolError if they measure different things."""
    if source.kind != target.kind:
        raise ToolError(f"{source.name} is a {source.kind}, {target.name} a {target.kind}.")
    return target.from_base(source.to_base(number))


@TOOLS.add("")
def _convert(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    source, target = require_unit(arguments["from_unit"]), require_unit(arguments["to_unit"])
    with localcontext(prec=DIGITS):
        value = Decimal(str(arguments["value"]))
        converted = convert(value, source, target)
    with localcontext(prec=_MOST_SHOWN):
        digits = plain_number(+converted)
    answer = f"{plain_number(value)} {source.name} = {digits} {target.name}"
    return {"answer": answer, "value": digits, "unit": target.name}

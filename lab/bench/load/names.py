"""The loads by name, with the number of tools in their world, and their full duration."""

SMALL, LARGE = 5_000, 50_000
LOADS = {
    "cold": SMALL,
    "warm": SMALL,
    "list": SMALL,
    "execute": SMALL,
    "install": SMALL,
    "soak": SMALL,
    "large": LARGE,
}
SECONDS = {
    "cold": 300.0,
    "warm": 60.0,
    "list": 60.0,
    "execute": 60.0,
    "install": 40.0,
    "soak": 1_200.0,
    "large": 60.0,
}

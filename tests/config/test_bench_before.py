from lab.bench.before import compare, rows_of
from lab.bench.cost import HEAD


def told(*figures: tuple[float, int]) -> str:
    """Return what `lab.bench.cost` prints of runs with these requests per second and CPU."""
    lines = (
        f"| 8 | 100 | {'2 x reset' if cpu > 50 else 0} | {rate} | 1.0 | 2.0 | 4.0 | 5.0 | 0.1 | 0.2"
        f" | {cpu} |"
        for rate, cpu in figures
    )
    return "\n".join(["A machine", "", HEAD, *lines])


def test_medians_of_the_turns_are_compared() -> None:
    before, now = told((40, 20), (50, 60), (60, 24)), told((90, 12))

    table = compare(rows_of(before), rows_of(now)).splitlines()

    assert table[2:] == [
        "| 8 | before | 50.0 | 1.0 | 4.0 | 5.0 | 24.0 | 2 x reset |",
        "| 8 | now | 90.0 | 1.0 | 4.0 | 5.0 | 12.0 | 0 |",
        "| 8 | ratio | 1.80 | 1.00 | 1.00 | 1.00 | 0.50 |  |",
    ]


def test_text_without_a_table_has_no_rows() -> None:
    assert rows_of("A machine\n") == []

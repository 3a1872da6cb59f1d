"""Pauses after failures, compared with a plain count of them."""

from hypothesis import given
from hypothesis import strategies as st

from acl.platform.back_off import BackOff

PAUSES = st.floats(0.1, 10)


@given(
    first=PAUSES,
    times=st.floats(1, 1000),
    jitter=st.floats(0, 1),
    events=st.lists(st.tuples(st.booleans(), st.floats(0, 100)), max_size=80),
)
def test_pauses_double_up_to_the_longest_and_end_with_a_success(
    first: float, times: float, jitter: float, events: list[tuple[bool, float]]
) -> None:
    longest, now, in_a_row = first * times, 0.0, 0
    back_off = BackOff(first, longest, jitter)
    for failed, passed in events:
        now += passed
        (back_off.failed(now) if failed else back_off.succeeded())
        in_a_row = in_a_row + 1 if failed else 0
        expected = min(longest, first * 2 ** (in_a_row - 1)) if in_a_row else 0

        assert back_off.pause == expected
        assert back_off.allows(now + expected)
        almost = now + 0.99 * (1 - jitter) * expected
        assert back_off.allows(almost) == (not failed or almost >= back_off.until)
        assert not failed or back_off.until >= now + (1 - jitter) * expected - 1e-6


def test_no_number_of_failures_is_too_large() -> None:
    assert BackOff(failures=10**9).pause == 60

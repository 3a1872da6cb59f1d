"""Slow, broken and greedy clients do not starve others of threads or answers."""

import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.operate.embedded._intake import (
    BODY_SECONDS,
    HEAD_SECONDS,
    LEAST_BYTES_A_SECOND,
    Intake,
    Refusal,
)
from marketplace.operate.embedded._reception import (
    MAX_WAIT_SECONDS,
    MAX_WAITING,
    MAX_WAITING_OF_PERSON,
    FairQueue,
)
from tests.embedded.served import served
from tests.operate.deployment import wait_for
from tests.ports import free_port

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
SLOW = [
    b"G",
    b"GET / HTTP/1.1\r\nHost: a\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"a" * 5000,
    HEAD + b"\r\nab",
]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEB_CONCURRENCY", "1")
        port = free_port()
        with served(f"127.0.0.1:{port}"):
            wait_for(lambda: is_answered(port), "listening")
            yield port


@pytest.mark.processes
def test_half_sent_requests_keep_nobody_waiting(port: int) -> None:
    slow = [begin(port, sent) for sent in SLOW * 8]

    answers = [is_answered(port) for _ in range(20)]
    for _ in range(4):  # slowly, without blocking anyone
        for one in slow[:16]:
            one.sendall(b"a")
        answers.append(is_answered(port))
    told = [read(one) for one in slow[:2]]

    assert all(answers)
    assert [status_of(one) for one in told] == [408, 408]
    for one in slow:
        one.close()


@pytest.mark.processes
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"SSH-2.0-OpenSSH_9.6\r\n", 400),
        (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /" + b"a" * 70_000, 414),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X: aaaa\r\n" * 9000, 431),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nBad Name: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: a\r\n folded\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (HEAD + b"Content-Length: 6\r\n\r\nabcde", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 5 \xc2\xb2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 411),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", 411),
    ],
)
def test_what_is_no_request_gets_a_problem(port: int, sent: bytes, status: int) -> None:
    answer = ask(port, sent)

    head, _, body = answer.partition(b"\r\n\r\n")
    problem = json.loads(body)
    assert (status_of(answer), problem["status"]) == (status, status)
    assert b"Content-Type: application/problem+json\r\n" in head + b"\r\n"
    assert problem["type"].startswith("urn:pegboard:problem:")
    assert problem["request_id"].encode() in head
    assert "aaaa" not in str(problem | {"request_id": ""})
    assert is_answered(port)


@pytest.mark.processes
def test_requests_in_one_packet_are_all_answered(port: int) -> None:
    answer = ask(port, GET + HEAD + b"\r\nabcde" + LAST)

    assert answer.count(b"HTTP/1.1 200 OK") == 3


@pytest.mark.processes
def test_client_that_waits_to_be_told_to_go_on_is_told(port: int) -> None:
    with begin(port, HEAD + b"Connection: close\r\nExpect: 100-continue\r\n\r\n") as client:
        told = client.recv(100)
        client.sendall(b"abcde")
        answer = read(client)

    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert b"HTTP/1.1 200 OK" in answer


@pytest.mark.processes
def test_caller_with_many_requests_leaves_a_thread_to_others(port: int, tmp_path: Path) -> None:
    end = tmp_path / "end"
    held = b"GET /hold?%s HTTP/1.1\r\nAuthorization: Bearer a\r\nConnection: close\r\n\r\n"
    greedy = [begin(port, held % str(end).encode()) for _ in range(16)]

    answers = [is_answered(port) for _ in range(5)]
    end.touch()
    with ThreadPoolExecutor(16) as readers:
        told = list(readers.map(read, greedy))

    assert all(answers)
    assert [status_of(one) for one in told] == [200] * 16


@pytest.mark.processes
def test_connections_of_one_address_that_only_send_are_bounded(port: int) -> None:
    slow = [begin(port, b"GET / HT") for _ in range(100)]

    first = read(slow[0])
    answered = is_answered(port)

    assert first == b""
    assert answered
    for one in slow:
        one.close()


def test_request_has_one_deadline_however_it_is_sent() -> None:
    intake = Intake(started=100.0, most_body=1_000_000)

    intake.receive(b"POST / HTTP/1.1\r\nContent-Length: 20000\r\n")
    before = intake.deadline
    intake.receive(b"\r\n")

    assert before == 100.0 + HEAD_SECONDS
    assert intake.deadline == before + BODY_SECONDS + 20_000 / LEAST_BYTES_A_SECOND


def test_request_is_complete_at_its_last_byte() -> None:
    intake = Intake(started=0.0, most_body=1_000)
    sent = HEAD + b"\r\nabcde" + GET

    for place in range(len(HEAD) + 6):
        intake.receive(sent[place : place + 1])
        assert not intake.is_complete
    intake.receive(sent[len(HEAD) + 6 :])

    assert intake.is_complete
    assert intake.take() == (HEAD + b"\r\nabcde", GET)


def test_body_beyond_the_limit_is_refused_before_it_is_sent() -> None:
    with pytest.raises(Refusal) as refused:
        Intake(started=0.0, most_body=4).receive(HEAD + b"\r\n")

    assert refused.value.status == 413


@given(seed=st.integers(0, 2**32))
def test_waiting_callers_and_their_people_take_turns(seed: int) -> None:
    random = Random(seed)
    most = random.randrange(1, 5)
    turns: FairQueue[tuple[str, str, int]] = FairQueue(random.randrange(most, 7), most)
    running: list[str] = []
    queued: list[tuple[str, str, int]] = []
    for number in range(random.randrange(1, 200)):
        caller, person = random.choice("aaab"), random.choice("xxxxxyz")
        if turns.begin(caller):
            running.append(caller)
        else:
            queued.append((caller, person, number))
            assert turns.wait(caller, person, queued[-1], now=0.0)
    passed_over: Counter[tuple[str, str]] = Counter()

    while queued or running:
        while (item := turns.next()) is not None:
            caller, person, _ = item
            # Who came first among the requests of the same person, and no slot stays free.
            assert item == next(one for one in queued if one[:2] == item[:2])
            queued.remove(item)
            running.append(caller)
            passed_over = Counter(
                {at: n for at, n in passed_over.items() if at in people_in(queued)}
            )
            passed_over.update(
                at for at in people_in(queued) if at[0] == caller and at[1] != person
            )
            passed_over.pop((caller, person), None)
            # At most each of the other two people came in between.
            assert max(passed_over.values(), default=0) <= 2
        assert len(running) <= turns.slots
        assert max(Counter(running).values()) <= most
        callers = {caller for caller, _, _ in queued}
        free = len(running) < turns.slots
        assert not (free and any(running.count(caller) < most for caller in callers))
        turns.end(running.pop(random.randrange(len(running))))
    assert not turns.has_waiting


def people_in(queued: list[tuple[str, str, int]]) -> set[tuple[str, str]]:
    return {(caller, person) for caller, person, _ in queued}


def test_waiting_ends_and_is_bounded() -> None:
    turns: FairQueue[int] = FairQueue(1, 1)
    turns.begin("a")

    taken = [
        turns.wait("a", person, number, now=float(number))
        for person in range(10)
        for number in range(MAX_WAITING_OF_PERSON + 1)
    ]

    assert taken.count(True) == MAX_WAITING
    assert taken[: MAX_WAITING_OF_PERSON + 1] == [True] * MAX_WAITING_OF_PERSON + [False]
    assert turns.wait("b", 0, 0, now=0.0)
    assert len(list(turns.expired(MAX_WAIT_SECONDS + 0.5))) == 5
    assert turns.has_waiting


@pytest.mark.processes
def test_what_nobody_waits_for_is_not_begun(port: int, tmp_path: Path) -> None:
    end, begun = tmp_path / "end", tmp_path / "begun"
    held = [begin(port, to(f"/hold?{end}")) for _ in range(6)]
    gone = [begin(port, to(f"/write?{begun}{number}")) for number in range(100)]
    stays = begin(port, to(f"/write?{begun}-stays"))
    for client in gone:
        client.close()

    end.touch()
    with ThreadPoolExecutor(8) as readers:
        statuses = [status_of(answer) for answer in readers.map(read, [*held, stays])]

    assert statuses == [200] * 7
    assert [path.name for path in tmp_path.glob("begun*")] == ["begun-stays"]


@pytest.mark.processes
def test_probes_are_answered_while_all_threads_are_busy(port: int, tmp_path: Path) -> None:
    end = tmp_path / "end"
    held = [
        begin(port, to(f"/hold?{end}", by=f"{caller}")) for caller in range(4) for _ in range(8)
    ]

    answers = {path: status_of(ask(port, to(path))) for path in ("/healthz", "/readyz?full=1")}
    end.touch()

    assert answers == {"/healthz": 200, "/readyz?full=1": 200}
    with ThreadPoolExecutor(len(held)) as readers:
        assert {status_of(answer) for answer in readers.map(read, held)} == {200}


@pytest.mark.processes
@pytest.mark.parametrize("form", ["address", "header", "body"])
def test_people_of_a_key_take_turns(port: int, tmp_path: Path, form: str) -> None:
    end, log = tmp_path / "end", tmp_path / "log"
    held = [begin(port, to(f"/hold?{end}")) for _ in range(6)]
    waiting = []
    for person in ["loud"] * 30 + ["calm"]:
        target = f"/write?{log}&user={person}" if form == "address" else f"/write?{log}&{person}"
        head = f"X-Pegboard-User: {person}\r\n" if form == "header" else ""
        body = json.dumps({"user": person}) if form == "body" else ""
        waiting.append(begin(port, to(target, head=head, body=body)))
    time.sleep(0.3)

    end.touch()
    with ThreadPoolExecutor(40) as readers:
        statuses = {status_of(answer) for answer in readers.map(read, [*held, *waiting])}

    assert statuses == {200}
    people = log.read_text().split()
    # Six threads take turns; whichever writes first, the calm one is among the first.
    assert people.index("calm") < 12


def to(target: str, *, by: str = "a", head: str = "", body: str = "") -> bytes:
    lines = f"GET {target} HTTP/1.1\r\nAuthorization: Bearer {by}\r\nConnection: close\r\n{head}"
    return f"{lines}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def begin(port: int, sent: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(sent)
    return client


def read(client: socket.socket) -> bytes:
    answer = b""
    try:
        while data := client.recv(65_536):
            answer += data
    except ConnectionResetError:
        pass
    return answer


def ask(port: int, sent: bytes) -> bytes:
    with begin(port, sent) as client:
        return read(client)


def is_answered(port: int) -> bool:
    try:
        return ask(port, LAST).endswith(b"ok")
    except OSError:
        time.sleep(0.1)
        return False


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])

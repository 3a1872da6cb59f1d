"""Slow, broken and greedy clients do not starve others of threads or answers."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from marketplace.operate.embedded._intake import (
    BODY_SECONDS,
    HEAD_SECONDS,
    LEAST_BYTES_A_SECOND,
    Intake,
    Refusal,
)
from marketplace.operate.embedded._reception import MAX_WAITING, FairQueue
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
    assert b"aaaa" not in body
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


def test_turns_go_to_those_who_wait_in_their_order() -> None:
    turns: FairQueue[str] = FairQueue(2)

    begun = [turns.begin("a") for _ in range(3)]
    others = turns.begin("b")
    waits = [turns.wait("a", name, now=0.0) for name in ("first", "second")]

    assert (begun, others, waits) == ([True, True, False], True, [True, True])
    assert [turns.end("a") for _ in range(4)] == ["first", "second", None, None]
    assert not turns.has_waiting


def test_waiting_ends_and_is_bounded() -> None:
    turns: FairQueue[int] = FairQueue(1)
    turns.begin("a")

    taken = [turns.wait("a", number, now=float(number)) for number in range(MAX_WAITING + 1)]

    assert taken == [True] * MAX_WAITING + [False]
    assert list(turns.expired(30.5)) == [0]


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

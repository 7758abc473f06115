"""Python's http.client, requests, aiohttp and raw sockets against a server.

Usage: clients.py URL TRIES CLIENT... Prints a line NAME, tab, RESULT for each
check, as peer client does. A raw socket is the only one here that can pipeline.
"""

import asyncio
import http.client
import io
import json
import socket
import sys
from urllib.parse import urlsplit

import aiohttp
import requests
from yarl import URL

TOO_LONG = bytes(6 << 20)
SMALL = bytes(100_000)
TARGETS = ["/echo/a[1]", "/echo/a|b", '/echo?q="a"', "/echo?q=<b>", "/echo/{a}^b", "/echo/a%2Fb?x=%20", "/echo?name=é"]


def chunks(data):
    return (data[i : i + 65536] for i in range(0, len(data), 65536))


def report(name, check):
    try:
        result = check()
    except Exception as e:  # whatever a library throws is a result, too
        result = f"! {type(e).__name__}: {e}"
    print(f"{name}\t{result}".replace("\n", " "), flush=True)


def unchanged(target, status, got):
    """The result of an echo; got is bytes."""
    return "200 unchanged" if (status, got) == (200, target.encode()) else f"! {status} {got.decode()}"


def refused(tries, post):
    """How many of the tries to post something too long were answered by 413."""
    seen, other = 0, ""
    for _ in range(tries):
        try:
            status = post()
            seen += status == 413
            if status != 413:
                other = f": {status}"
        except Exception as e:
            other = f": {type(e).__name__}: {e}"
    return f"{'' if seen == tries else '! '}413 in {seen} of {tries}{other}"


def reused(send):
    """send(method, path, body, chunked) returns status and body."""
    accepted = lambda: json.loads(send("GET", "/stats", None, False)[1])["Accepted"]
    before, count = accepted(), 0
    for _ in range(10):
        for method, path, body, chunked, want in (
            ("GET", "/echo/x", None, False, 200),
            ("POST", "/upload", SMALL, False, 200),
            ("POST", "/upload", SMALL, True, 200),
            ("HEAD", "/echo/x", None, False, 200),
            ("GET", "/none", None, False, 404),
        ):
            status, _ = send(method, path, body, chunked)
            if status != want:
                return f"! {method} {path}: {status}"
            count += 1
    more = accepted() - before
    return f"! {more} more connections for {count} requests" if more else f"{count} requests on 1 connection"


def over(name, tries, post):
    """post(path, data, chunked) returns a status."""
    for path in "/upload", "/api/notes":
        report(f"{name}: too long, {path}", lambda: refused(tries, lambda: post(path, False)))
        report(f"{name}: too long, chunked, {path}", lambda: refused(tries, lambda: post(path, True)))


def with_http_client(base, tries):
    def send_on(conn, method, path, body, chunked):
        headers = {"Transfer-Encoding": "chunked"} if chunked else {}
        conn.request(method, path, chunks(body) if chunked else body, headers, encode_chunked=chunked)
        response = conn.getresponse()
        return response.status, response.read()

    def post(path, chunked):
        conn = http.client.HTTPConnection(urlsplit(base).netloc, timeout=20)
        try:
            return send_on(conn, "POST", path, TOO_LONG, chunked)[0]
        finally:
            conn.close()

    conn = http.client.HTTPConnection(urlsplit(base).netloc, timeout=20)
    for target in TARGETS[:-1]:  # it sends ASCII only
        report(f"http.client: GET {target}", lambda: unchanged(target, *send_on(conn, "GET", target, None, False)))
    report("http.client: requests on one connection", lambda: reused(lambda *r: send_on(conn, *r)))
    over("http.client", tries, post)


def with_requests(base, tries):
    session = requests.Session()

    def send(method, path, body, chunked):
        response = session.request(method, base + path, data=chunks(body) if chunked else body, timeout=20)
        return response.status_code, response.content

    def echo(target):
        status, got = send("GET", target, None, False)
        return f"{status} {got.decode()}"

    for target in TARGETS:  # which it encodes in part
        report(f"requests: GET {target}", lambda: echo(target))
    report("requests: requests on one connection", lambda: reused(send))
    over("requests", tries, lambda path, chunked: send("POST", path, TOO_LONG, chunked)[0])


async def with_aiohttp(base, tries):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as session:

        async def generate(body):
            for chunk in chunks(body):
                yield chunk

        async def send(method, path, body, chunked):
            data = generate(body) if chunked else io.BytesIO(body) if body else None
            async with session.request(method, URL(base + path, encoded=True), data=data) as response:
                return response.status, await response.read()

        loop = asyncio.get_running_loop()
        wait = lambda *r: asyncio.run_coroutine_threadsafe(send(*r), loop).result()

        def checks():
            for target in TARGETS:
                report(f"aiohttp: GET {target}", lambda: unchanged(target, *wait("GET", target, None, False)))
            report("aiohttp: requests on one connection", lambda: reused(wait))
            over("aiohttp", tries, lambda path, chunked: wait("POST", path, TOO_LONG, chunked)[0])

        await asyncio.to_thread(checks)


def pipelined(base, count, half_close):
    """Sends requests of several kinds in one go, then reads the answers."""
    host, port = urlsplit(base).netloc.split(":")
    with socket.create_connection((host, int(port)), 20) as conn:
        sent = b""
        for i in range(count):
            body, fields = b"", ""
            if i % 3 == 1:
                body, fields = b"x" * i, f"Content-Length: {i}\r\n"
            if i % 3 == 2:
                body, fields = b"%x\r\n%b\r\n0\r\n\r\n" % (i, b"y" * i), "Transfer-Encoding: chunked\r\n"
            method = "POST" if body else "GET"
            sent += f"{method} /echo/{i}?[|] HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode() + body
        conn.sendall(sent)
        if half_close:
            conn.shutdown(socket.SHUT_WR)
        with conn.makefile("rb") as answers:
            for i in range(count):
                line = answers.readline()
                status = line.split(b" ")[1:2]
                fields = http.client.parse_headers(answers)
                got = answers.read(int(fields["Content-Length"] or 0))
                if (status, got) != ([b"200"], b"/echo/%d?[|]" % i):
                    return f"! answer {i}: {line!r} {got!r}"
            if half_close and answers.read(1):
                return "! more answers than requests"
    return f"{count} answers in order"


CLIENTS = {
    "http.client": with_http_client,
    "requests": with_requests,
    "aiohttp": lambda base, tries: asyncio.run(with_aiohttp(base, tries)),
    "raw": lambda base, _: report("raw socket: pipelined", lambda: pipelined(base, 300, False)),
    # A proxy may take this for a client that went away.
    "half-closed": lambda base, _: report(
        "raw socket: pipelined, then half closed", lambda: pipelined(base, 300, True)
    ),
}
for client in sys.argv[3:]:
    CLIENTS[client](sys.argv[1], int(sys.argv[2]))

"""Files and uploads by Python's http.client on one keep-alive connection; prints ok."""

import hashlib
import http.client
import json
import sys
from urllib.parse import urlsplit

base, large = sys.argv[1:]
conn = http.client.HTTPConnection(urlsplit(base).netloc, timeout=20)
for i in range(20):
    conn.request("GET", "/files/large.bin", headers={"Range": f"bytes={i}-"})
    resp = conn.getresponse()
    data = resp.read()
    assert resp.status == 206 and len(data) == 3000000 - i, (resp.status, len(data))
conn.request("GET", "/files/large.bin")
assert hashlib.sha256(conn.getresponse().read()).hexdigest() == large


def parts():
    for i in range(100):
        yield b"part" * i or b"."


conn.request("POST", "/upload", body=parts(), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
assert json.load(conn.getresponse())["bytes"] == sum(len(p) for p in parts())
conn.request("HEAD", "/files/small.txt")
assert conn.getresponse().read() == b""
conn.request("GET", "/files/small.txt")
assert conn.getresponse().read() == b"hello\n"
print("ok")

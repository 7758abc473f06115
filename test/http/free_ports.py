"""Prints as many ports as its argument says on which nobody listens. They lie
below those that the kernel gives to clients, which might take them meanwhile."""

import random
import socket
import sys

free = []
while len(free) < int(sys.argv[1]):
    port = random.randrange(10000, 32768)
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        continue
    if port not in free:
        free.append(port)
print(*free)

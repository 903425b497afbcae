"""An Ethernet switch on which frames are late or get lost, for kernels without netem.

    python3 slow_wire.py DELAY_MS JITTER_MS LOSE PORT...

Prints {"ready": true} and runs until it is ended. A frame is late by DELAY_MS ± JITTER_MS, so that some overtake others, and lost with the
probability LOSE.
"""

import heapq
import json
import random
import select
import socket
import sys
import time

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_VNET_HDR = 15  # frames come with what the kernel has put off: checksums and segmentation
HEADER = 10
SIZE = HEADER + 14 + 65536


def open_port(name):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    port.bind((name, ETH_P_ALL))
    port.setblocking(False)
    return port


def send(port, frame):
    try:
        port.send(frame)
    except OSError:
        pass  # its other end is not there, or its queue is full: lost


def main():
    delay, jitter, lose = (float(argument) for argument in sys.argv[1:4])
    rng = random.Random(1)
    ports = {port.fileno(): port for port in map(open_port, sys.argv[4:])}
    poll = select.epoll()
    for number in ports:
        poll.register(number, select.EPOLLIN)
    where = {}  # MAC -> port
    late = []
    count = 0
    print(json.dumps({"ready": True}), flush=True)
    while True:
        wait = max(0, late[0][0] - time.monotonic()) if late else None
        for number, _ in poll.poll(wait):
            frame, (_, _, kind, *_) = ports[number].recvfrom(SIZE)
            if kind == socket.PACKET_OUTGOING:
                continue
            target, source = frame[HEADER:HEADER + 6], frame[HEADER + 6:HEADER + 12]
            where[source] = number
            to = [where[target]] if target in where else [other for other in ports if other != number]
            for other in to:
                if rng.random() >= lose:
                    count += 1
                    heapq.heappush(late, (time.monotonic() + (delay + rng.uniform(-jitter, jitter)) / 1000, count, other, frame))
        while late and late[0][0] <= time.monotonic():
            _, _, number, frame = heapq.heappop(late)
            send(ports[number], frame)


if __name__ == "__main__":
    main()

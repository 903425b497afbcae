"""The balancer of these tests gives connections in turn to those that are up, and to another one what one refuses.

    python3 tests/cluster/balancer_test.py
"""

import http.server
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
from balancer import Balancer  # noqa: E402
from network import Failure, free_port, wait_for  # noqa: E402

FRONTS = ["127.0.4.1", "127.0.4.2"]
counts = {True: 0, False: 0}


def check(what, ok, detail=""):
    counts[bool(ok)] += 1
    if not ok:
        print(f"FAILED: {what}\n  {detail}")


class Probe(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(address, port):
    """Says its address to whoever connects."""
    listener = socket.create_server((address, port))

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while not connection.recv(4096).endswith(b"\r\n"):  # the PROXY header
                    pass
                connection.sendall(address.encode())

    threading.Thread(target=accept, daemon=True).start()
    return listener


def end(listener):
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def main():
    port, livez = free_port(), free_port()
    probes = [http.server.ThreadingHTTPServer((address, livez), Probe) for address in FRONTS]
    for probe in probes:
        threading.Thread(target=probe.serve_forever, daemon=True).start()
    listeners = [serve(address, port) for address in FRONTS]

    def who():
        with socket.create_connection(("127.0.4.9", port), timeout=5) as connection:
            return connection.recv(100).decode()

    with Balancer("127.0.4.9", port, [(address, livez) for address in FRONTS]) as balancer:
        wait_for("both", lambda: len(balancer.up) == 2, 10)
        came = [who() for _ in range(10)]
        check("both get as many", [came.count(address) for address in FRONTS] == [5, 5] and balancer.given == [5, 5], came)
        end(listeners[0])
        came = [who() for _ in range(4)]
        check("who refuses is passed over", came == FRONTS[1:] * 4, came)
        probes[1].shutdown()
        probes[1].server_close()
        wait_for("one that does not live", lambda: balancer.up == [0], 10)
        check("who does not live gets none, and nobody is left", who() == "")
        listeners[0] = serve(FRONTS[0], port)
        check("who listens again gets all", [who() for _ in range(3)] == FRONTS[:1] * 3)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(str(failure))

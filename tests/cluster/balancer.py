"""What stands in front of a node on several machines: passes TCP on, with a PROXY header, to those that answer GET /livez, in turn.

As HAProxy does with `balance roundrobin`, `option redispatch`, `option httpchk` and `on-marked-down shutdown-sessions` (docs/postgresql.md)."""

import socket
import threading
import urllib.error
import urllib.request

EVERY = 0.5  # s between two looks, and how long an answer may take


class Balancer:
    """Listens at `address`; behind it are `machines`, [(address, port of /livez)], with the same port. Use as a context manager."""

    def __init__(self, address, port, machines):
        self.address, self.port, self.machines = address, port, machines
        self.up = []  # that answer, whose turn is next first
        self.given = [0] * len(machines)  # connections, since the beginning
        self.connections = {machine: set() for machine in range(len(machines))}
        self.lock = threading.Lock()
        self.over = threading.Event()

    def __enter__(self):
        self.listener = socket.create_server((self.address, self.port), backlog=512)
        for work in [self._accept, *[lambda m=m: self._look(m) for m in range(len(self.machines))]]:
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _look(self, machine):
        address, port = self.machines[machine]
        while not self.over.wait(EVERY):
            try:
                with urllib.request.urlopen(f"http://{address}:{port}/livez", timeout=EVERY) as answer:
                    lives = answer.status == 200
            except OSError:
                lives = False
            with self.lock:
                if lives and machine not in self.up:
                    self.up.append(machine)
                if not lives and machine in self.up:
                    self.up.remove(machine)
                dead = [] if lives else list(self.connections[machine])
            for connection in dead:
                self._close(*connection)

    def _accept(self):
        while True:
            try:
                client, (address, port) = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client, address, port), daemon=True).start()

    def _next(self):
        """Who is up, the one whose turn it is first; it is the last the next time."""
        with self.lock:
            turn = list(self.up)
            self.up = turn[1:] + turn[:1]
        return turn

    def _connect(self, address, port):
        """(machine, connection) with the first that does not refuse."""
        for machine in self._next():
            try:
                server = socket.create_connection((self.machines[machine][0], self.port), timeout=EVERY)
                server.settimeout(None)
                server.sendall(f"PROXY TCP4 {address} {self.address} {port} {self.port}\r\n".encode())
                return machine, server
            except OSError:
                pass
        return None

    def _pass_on(self, client, address, port):
        connected = self._connect(address, port)
        if connected is None:
            client.close()
            return
        machine, server = connected
        pair = (client, server)
        with self.lock:
            self.connections[machine].add(pair)
            self.given[machine] += 1
        back = threading.Thread(target=self._copy, args=(server, client), daemon=True)
        back.start()
        self._copy(client, server)
        back.join()
        with self.lock:
            self.connections[machine].discard(pair)
        client.close()
        server.close()

    @staticmethod
    def _copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            Balancer._close(source, target)

    @staticmethod
    def _close(*connection):
        for end in connection:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

"""The attacks: each a function that goes on until `Attack.over()`, and counts what the attacker sends."""

import base64
import hashlib
import json
import os
import random
import threading
import time
from datetime import date, timedelta

from world import EVIL, PUBLIC, SERVERS, TARPIT, VICTIM, Failure, wait_for

MIB = 1 << 20
WRITE_MAX = 2  # seconds that a write may take, which is a process here


class Attack:
    """What an attack function is given."""

    def __init__(self, world, seconds, number):
        self.world = world
        self.net = 20 + number  # or one would feel what another has used up
        self.ends = time.monotonic() + seconds
        self.bytes = self.requests = 0
        self.skipped = ""  # why
        self.wrong = []  # what it saw for itself
        self.domains = 1  # that it has
        self.number = 0
        self.held = []
        self.lock = threading.Lock()

    def over(self):
        return time.monotonic() >= self.ends

    def next(self):
        with self.lock:
            self.number += 1
            return self.number

    def source(self, i=0):
        """One of the attacker's addresses."""
        return f"127.{self.net}.{i // 250}.{1 + i % 250}"

    def source6(self, i=0, each=1):
        """The same of IPv6: `each` of a /64, 256 /64 of a /48."""
        group, rest = divmod(i, 256 * each)
        return f"2001:db8:{0x100 * self.net + group:x}:{rest // each:x}::{1 + rest % each:x}"

    def open(self, source=None):
        """A connection, or None if the node does not take it."""
        source = source or self.source()
        try:
            return self.world.open_as(source, timeout=5) if ":" in source else self.world.open(source, timeout=5)
        except OSError:
            return None

    def send(self, connection, data, count=1):
        """Whether it went out."""
        try:
            connection.sendall(data)
        except OSError:
            return False
        with self.lock:
            self.bytes += len(data)
            self.requests += count
        return True

    def ask(self, make, source=None):
        """One request after the other on one connection, as fast as they are answered."""
        connection = None
        while not self.over():
            connection = connection or self.open(source)
            if connection is None:
                time.sleep(0.05)
                continue
            if not self.send(connection, make()) or not self.read(connection):
                connection.close()
                connection = None
        if connection:
            connection.close()

    def read(self, connection, heads=None):
        """An answer, whose head goes to `heads`. False if the connection is at its end."""
        data = b""
        try:
            while b"\r\n\r\n" not in data:
                got = connection.recv(65536)
                if not got:
                    return False
                data += got
            head, _, body = data.partition(b"\r\n\r\n")
            if heads is not None:
                heads.append(head)
            fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:] if b": " in line)
            left = int(fields.get(b"content-length", b"0")) - len(body)
            while left > 0:
                got = connection.recv(65536)
                if not got:
                    return False
                left -= len(got)
            return fields.get(b"connection") != b"close"
        except (OSError, ValueError):
            return False

    def at_once(self, count, function):
        threads = [threading.Thread(target=function, args=[i], daemon=True) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.1, self.ends - time.monotonic() + 20))

    def hold(self, connection):
        if connection is not None:
            self.held.append(connection)

    def close(self):
        for connection in self.held:
            try:
                connection.close()
            except OSError:
                pass


ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


# --- connections -----------------------------------------------------------------------------------------


@attack
def idle_connections_of_one(a):
    while not a.over() and len(a.held) < 400:
        a.hold(a.open())
    time.sleep(max(0, a.ends - time.monotonic()))


@attack
def idle_connections_of_many(a):
    def take(i):
        for _ in range(30):
            if a.over():
                return
            try:
                a.hold(a.world.raw(a.source(i)))
                a.requests += 1
            except OSError:
                time.sleep(0.05)

    a.at_once(60, take)


@attack
def half_handshakes(a):
    while not a.over() and len(a.held) < 200:
        connection = a.world.raw(a.source())
        a.send(connection, b"\x16\x03\x01\x02\x00\x01")
        a.hold(connection)


@attack
def connections_come_and_go(a):
    def churn(i):
        while not a.over():
            connection = a.open(a.source(i))
            a.requests += 1
            if connection:
                connection.close()

    a.at_once(4, churn)


# --- slow requests ---------------------------------------------------------------------------------------


@attack
def slow_heads(a):
    for _ in range(100):
        connection = a.open()
        if connection and a.send(connection, f"GET /actor HTTP/1.1\r\nHost: {a.world.authority}\r\n".encode()):
            a.hold(connection)
    while not a.over():
        for connection in a.held:
            a.send(connection, b"X-A: b\r\n", 0)
        time.sleep(0.3)


@attack
def slow_bodies(a):
    head = a.world.post("/inbox", b"x" * 10)[:-10].replace(b"Content-Length: 10", b"Content-Length: 1000000")
    for i in range(100):
        connection = a.open(a.source(i % 5))
        if connection and a.send(connection, head):
            a.hold(connection)
    while not a.over():
        for connection in a.held:
            a.send(connection, b"x", 0)
        time.sleep(0.3)


@attack
def bodies_announced_and_not_sent(a):
    head = a.world.post("/inbox", b"x" * MIB)[:-MIB]
    for i in range(80):  # 8 of each: all that one may have, if what is only announced counts
        if a.over():
            return
        connection = a.open(a.source(i // 8))
        if connection and a.send(connection, head):
            a.hold(connection)
    time.sleep(max(0, a.ends - time.monotonic()))


@attack
def bodies_without_their_last_byte(a):
    data = a.world.post("/inbox", b"[" * MIB)[:-1]
    for i in range(80):
        if a.over():
            return
        connection = a.open(a.source(i))
        if connection and a.send(connection, data):
            a.hold(connection)


@attack
def readers_who_do_not_read(a):
    for _ in range(60):
        connection = a.open()
        if connection and a.send(connection, a.world.get("/") * 50, 50):
            a.hold(connection)
    time.sleep(max(0, a.ends - time.monotonic()))


# --- HTTP ------------------------------------------------------------------------------------------------


@attack
def bodies_that_are_requests(a):
    inner = a.world.get("/actor")
    codings = ["xchunked", "gzip", "identity", "chunked, identity", '"chunked"', "gzip, chunked"]

    def make():
        coding = codings[a.next() % len(codings)]
        return f"POST /inbox HTTP/1.1\r\nHost: {a.world.authority}\r\nTransfer-Encoding: {coding}\r\n\r\n".encode() + inner

    a.ask(make)


@attack
def garbage(a):
    a.ask(lambda: os.urandom(400) + b"\r\n\r\n")


@attack
def large_heads(a):
    fields = {f"X_{i}": "y" * 200 for i in range(70)}
    data = a.world.get("/actor", **fields)
    a.at_once(4, lambda i: a.ask(lambda: data))


@attack
def pipelines(a):
    data = a.world.get("/.well-known/nodeinfo") * 500
    while not a.over():
        connection = a.open()
        if connection is None:
            continue
        connection.settimeout(2)
        a.send(connection, data, 500)
        connection.close()


@attack
def chunks_of_one_byte(a):
    data = f"POST /inbox HTTP/1.1\r\nHost: {a.world.authority}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + b"1\r\nx\r\n" * 100_000
    a.ask(lambda: data + b"0\r\n\r\n")


@attack
def flood_of_reads(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get("/actor"), a.source(i)))


@attack
def flood_of_pages(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get("/", Accept="text/html", Accept_Encoding="gzip"), a.source(i)))


# --- JSON ------------------------------------------------------------------------------------------------


def members(count):
    return b"{" + b",".join(b'"%x":0' % i for i in range(count)) + b"}"


@attack
def objects_of_many_members(a):
    data = members(65_536)
    a.ask(lambda: a.world.post(["/tagring/v1/ring", "/inbox"][a.next() % 2], data))


@attack
def many_objects_of_many_members(a):
    data = b"[" + b",".join([members(999)] * 100) + b"]"
    a.ask(lambda: a.world.post("/tagring/v1/ring", data))


@attack
def deep_json(a):
    data = b'{"a":' * 100_000
    a.ask(lambda: a.world.post("/inbox", data))


@attack
def a_million_values(a):
    data = b'{"a":[' + b"0," * 500_000 + b"0]}"
    a.ask(lambda: a.world.post("/inbox", data))


def post_of(world, tags, name="x"):
    actor = world.actor("1")
    note = {"id": f"{actor}/{name}", "type": "Note", "attributedTo": actor, "to": PUBLIC, "content": "x",
            "tag": [{"type": "Hashtag", "name": tag} for tag in tags]}
    return {"id": f"{actor}/{name}#create", "type": "Create", "actor": actor, "to": PUBLIC, "object": note}


@attack
def hashtags_that_expand(a):
    actor = a.world.actor("1")
    posts = [{"id": f"{actor}/{i}", "type": "Note", "attributedTo": actor, "published": "2026-01-01T00:00:00Z",
              "tag": [{"type": "Hashtag", "name": "\ufdfa" * 250}] * 60} for i in range(20)]
    body = {"id": actor + "#a", "type": "Add", "actor": actor, "target": f"https://{a.world.authority}/relay", "object": posts}
    data = json.dumps(body, ensure_ascii=False).encode()
    unsigned = a.world.post("/inbox", data)
    a.ask(lambda: unsigned if a.next() % 2 else a.world.signed(data, genuine=False))


# --- streams ---------------------------------------------------------------------------------------------


def frame(text):
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x81" + size + b"\0\0\0\0" + data


def websocket(a, source=None, target="/api/v1/streaming"):
    connection = a.open(source)
    key = base64.b64encode(os.urandom(16)).decode()
    if connection and a.send(connection, a.world.get(target, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
                                                     Sec_WebSocket_Key=key)):
        connection.settimeout(2)
        try:
            if b" 101 " in connection.recv(4096):
                return connection
        except OSError:
            pass
    return None


def wish(type, tag):
    return frame(json.dumps({"type": type, "stream": "hashtag", "tag": tag}))


def talk(a, make, source=None):
    connection = None
    while not a.over():
        connection = connection or websocket(a, source)
        if connection is None:
            time.sleep(0.1)
            continue
        connection.settimeout(0.5)
        if not a.send(connection, make(), 200):
            connection.close()
            connection = None
    if connection:
        connection.close()


@attack
def a_reader_who_comes_and_goes(a):
    talk(a, lambda: (wish("subscribe", "cats") + wish("unsubscribe", "cats")) * 100)


@attack
def readers_of_ever_new_hashtags(a):
    def make():
        tag = f"t{a.next()}"
        return (wish("subscribe", tag) + wish("unsubscribe", tag)) * 100

    a.at_once(4, lambda i: talk(a, make, a.source(i)))


@attack
def websockets_of_nonsense(a):
    a.at_once(3, lambda i: talk(a, lambda: frame("x" * 3000) * 100))


@attack
def pings(a):
    talk(a, lambda: b"\x89\x84\0\0\0\0ping" * 200)


@attack
def held_streams(a):
    for i in range(300):
        if a.over():
            return
        connection = a.open(a.source(i // 30))
        if connection and a.send(connection, a.world.get(f"/api/v1/streaming/hashtag?tag=t{i}")):
            a.hold(connection)


# --- signatures and keys ---------------------------------------------------------------------------------


@attack
def keys_at_a_third_party(a):
    def make():
        key_id = f"{a.world.origin_of(VICTIM)}/{a.next()}#key"
        return a.world.signed(post_of(a.world, ["cats"]), genuine=False, key_id=key_id)

    a.at_once(3, lambda i: a.ask(make, a.source(i)))


@attack
def five_signatures(a):
    body = json.dumps(post_of(a.world, ["cats"])).encode()

    def make():
        n = a.next()
        created = int(time.time())
        value = base64.b64encode(os.urandom(64)).decode()
        inputs = ", ".join(f's{i}=("@method" "@target-uri" "content-digest");created={created};keyid="{a.world.origin_of(VICTIM)}/{n}-{i}#k"'
                           for i in range(4))
        signatures = ", ".join(f"s{i}=:{value}:" for i in range(4))
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        return a.world.post("/inbox", body, {"Content-Type": "application/activity+json", "Content-Digest": f"sha-256=:{digest}:",
                                             "Signature-Input": inputs, "Signature": signatures})

    a.ask(make)


@attack
def keys_in_a_tarpit(a):
    def hang(i):
        connection = a.open(a.source(i))
        key_id = f"{a.world.origin_of(TARPIT)}/{i}#key"
        if connection and a.send(connection, a.world.signed(post_of(a.world, ["cats"]), genuine=False, key_id=key_id)):
            a.hold(connection)

    a.at_once(60, hang)


@attack
def keys_at_names_that_are_nowhere(a):
    def make():
        key_id = f"https://n{a.next()}.nowhere.invalid/key"
        return a.world.signed(post_of(a.world, ["cats"]), genuine=False, key_id=key_id)

    a.at_once(4, lambda i: a.ask(make, a.source(i)))


@attack
def a_request_again_and_again(a):
    data = a.world.signed(post_of(a.world, ["cats"]))
    a.at_once(3, lambda i: a.ask(lambda: data))


@attack
def wrong_signatures_of_a_known_key(a):
    a.at_once(3, lambda i: a.ask(lambda: a.world.signed(post_of(a.world, ["cats"], str(a.next())), genuine=False)))


@attack
def farewells_of_others(a):
    author = f"https://oak.example:{a.world.port}/users/1"
    body = {"id": author + "#delete", "type": "Delete", "actor": author, "object": author}
    a.ask(lambda: a.world.signed(body, genuine=False, key_id=f"{author}?{a.next()}#key"))


# --- what is stored --------------------------------------------------------------------------------------


def follow(world, actor, objects, **more):
    return {"id": f"{actor}#follow-{random.getrandbits(60)}", "type": "Follow", "actor": actor, "object": objects, **more}


@attack
def large_follows_that_wait(a):
    def make():
        actor = a.world.actor(f"w{a.next()}")
        return a.world.signed(follow(a.world, actor, PUBLIC, summary="x" * 900_000), actor)

    a.at_once(3, lambda i: a.ask(make, a.source(i)))


@attack
def small_follows_that_wait(a):
    def make():
        actor = a.world.actor(f"s{a.next()}")
        return a.world.signed(follow(a.world, actor, PUBLIC), actor)

    a.at_once(3, lambda i: a.ask(make, a.source(i)))


@attack
def follows_of_ten_thousand_hashtags(a):
    actor = a.world.actor("1")

    def make():
        n = a.next()
        return a.world.signed(follow(a.world, actor, [f"https://{a.world.authority}/tag/x{n}y{i}" for i in range(10_000)]), actor)

    a.ask(make)


@attack
def follows_whose_answers_nobody_takes(a):
    actor = a.world.actor("1")
    a.ask(lambda: a.world.signed(follow(a.world, actor, f"https://{a.world.authority}/tag/z{a.next()}", summary="x" * 7000), actor))


@attack
def posts_of_a_stranger(a):
    a.ask(lambda: a.world.signed(post_of(a.world, [f"t{random.getrandbits(40)}" for _ in range(60)], str(a.next()))))


@attack
def batches_of_invented_hashtags(a):
    actor = a.world.actor("1")

    def make():
        n = a.next()
        posts = [{"id": f"{actor}/{n}-{i}", "type": "Note", "attributedTo": actor, "published": "2026-11-01T00:00:00Z",
                  "tag": [{"type": "Hashtag", "name": f"i{n}x{i}"}]} for i in range(1000)]
        body = {"id": f"{actor}#add-{n}", "type": "Add", "actor": actor, "target": f"https://{a.world.authority}/relay", "object": posts}
        return a.world.signed(body, actor)

    a.ask(make)


# --- the rings -------------------------------------------------------------------------------------------


def ring_call(a, operation, **more):
    node = json.loads(a.world.info)["metadata"]["tagring"]
    own = node["relay"][a.next() % len(node["relay"])]
    call = {"protocol": 1, "network": "demo", "ring": "relay", "to": own["id"], "incarnation": own["incarnation"], "operation": operation}
    return a.world.post("/tagring/v1/ring", json.dumps({**call, **more}).encode(), {"Content-Type": "application/json"})


@attack
def leavers_who_do_not_leave(a):
    neighbour = json.loads(a.world.neighbour_info)["metadata"]["tagring"]["relay"]
    zero = "0" * 64
    a.at_once(3, lambda i: a.ask(lambda: ring_call(a, "take_over", leaver=neighbour[a.next() % len(neighbour)],
                                                   segment={"from": zero, "to": zero}), a.source(i)))


@attack
def finds(a):
    a.at_once(3, lambda i: a.ask(lambda: ring_call(a, "find", key=os.urandom(32).hex()), a.source(i)))


def node_id(host, vserver):
    """Where one of SERVERS would stand on the ring, as `spread_id` of src/ring/contact.cpp has it."""
    network = bytes([0x20, 0x02, *map(int, SERVERS[host].split("."))])
    domain = ".".join(host.split(".")[-2:])
    return hashlib.sha3_256(network + bytes([vserver]) + domain.encode()).hexdigest()


def false_predecessors(a, hosts):
    """Contacts of who is no member, and would be nearer to a vserver of the node than its predecessor is; with the vserver."""
    own, others = (json.loads(info)["metadata"]["tagring"]["relay"] for info in (a.world.info, a.world.neighbour_info))
    members = sorted(own + others, key=lambda contact: contact["id"])
    found = []
    for host, vserver in ((host, vserver) for host in hosts for vserver in range(48)):
        place = node_id(host, vserver)
        after = next((member for member in members if member["id"] > place), members[0])
        if after in own:
            found.append((after, {**after, "id": place, "host": host, "address": SERVERS[host], "vserver": vserver}))
    return found


def notify(a, to, candidate):
    return ring_call(a, "notify", to=to["id"], incarnation=to["incarnation"], candidate=candidate)


def see_whole_rings(a):
    try:
        wait_for("rings", a.world.network.is_whole)
    except Failure:
        a.wrong.append("the rings are not whole")


@attack
def candidates_that_are_not(a):
    candidates = false_predecessors(a, [EVIL, VICTIM])
    a.ask(lambda: notify(a, *candidates[a.next() % len(candidates)]))
    see_whole_rings(a)


@attack
def neighbours_of_another_incarnation(a):
    own, others = (json.loads(info)["metadata"]["tagring"]["relay"] for info in (a.world.info, a.world.neighbour_info))
    pairs = [(to, other) for to in own for other in others]

    def make():
        to, other = pairs[a.next() % len(pairs)]
        return notify(a, to, {**other, "incarnation": other["incarnation"] + 1})

    a.ask(make)
    see_whole_rings(a)


@attack
def nudges(a):
    a.at_once(3, lambda i: a.ask(lambda: ring_call(a, "nudge"), a.source(i)))
    see_whole_rings(a)


@attack
def transfers_to_a_stranger(a):
    actor = a.world.actor("1")
    neighbour = json.loads(a.world.neighbour_info)["metadata"]["tagring"]["storage"][0]

    def make():
        body = {"protocol": 1, "network": "demo", "ring": "storage", "requester": neighbour, "from": "0" * 64, "to": "0" * 64,
                "kind": "history", "after_tag": "", "after": "", "nonce": a.next()}
        return a.world.signed(body, actor, "/tagring/v1/transfer")

    a.ask(make)


# --- readers ---------------------------------------------------------------------------------------------


@attack
def timelines_of_invented_hashtags(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get(f"/api/v1/timelines/tag/q{a.next()}"), a.source(i)))


@attack
def histories_of_invented_hashtags(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get(f"/tagring/v1/history?tag=h{a.next()}"), a.source(i)))


@attack
def days_of_a_large_history(a):
    """Of `world.large`, ten years, by one address; meanwhile somebody writes, and is told when that is on the disk."""
    today = date.today()
    target = f"/tagring/v1/history/days?tag={a.world.large}&from={today - timedelta(days=3650)}&to={today + timedelta(days=1)}"
    slowest = [0.0]

    def write():
        while not a.over():
            started = time.monotonic()
            a.world.network.cli(0, "subscribe", f"days{a.next()}")
            slowest[0] = max(slowest[0], time.monotonic() - started)
            time.sleep(0.2)

    a.at_once(33, lambda i: write() if i == 0 else a.ask(lambda: a.world.get(target)))
    if slowest[0] > WRITE_MAX:
        a.wrong.append(f"a write took {slowest[0]:.1f} s")


@attack
def outboxes_of_invented_hashtags(a):
    """By one address. The neighbour is asked for each that is answered."""
    answered = []

    def ask(i):
        connection = None
        while not a.over():
            connection = connection or a.open()
            if connection is None or not a.send(connection, a.world.get(f"/tag/o{a.next()}/outbox")):
                connection = None
                continue
            heads = []
            if not a.read(connection, heads):
                connection = None
            answered.extend(head for head in heads if head.startswith(b"HTTP/1.1 200 "))

    a.at_once(8, ask)
    if len(answered) > 300:
        a.wrong.append(f"{len(answered)} outboxes for one address")


@attack
def look_ups(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get(f"/tagring/v1/resolve?uri=hashtag:r{a.next()}"), a.source(i)))


@attack
def proofs(a):
    hour = int(time.time()) // 3600
    a.at_once(4, lambda i: a.ask(lambda: a.world.get(f"/tagring/v1/history/proof?tag=cats&hour={hour - a.next() % 1000}"), a.source(i)))


@attack
def searches(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get(f"/api/v2/search?q=%23s{a.next()}&resolve=true"), a.source(i)))


@attack
def guesses_of_the_secret(a):
    a.at_once(3, lambda i: a.ask(lambda: a.world.get("/admin/status", Authorization=f"Bearer {os.urandom(12).hex()}"), a.source(i)))

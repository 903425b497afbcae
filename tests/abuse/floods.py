"""More attacks: by many, or of much. See attacks.py."""

import contextlib
import os
import random
import socket
import ssl
import time

from attacks import attack, false_predecessors, follow, notify, post_of, see_whole_rings, websocket, wish
from network import Failure
from world import DOMAINS, OWN, PUBLIC, VICTIM

MEMBER = 2  # the attacker's node
POSTS_MIN = 20


def hashtag(a, name):
    return f"https://{a.world.authority}/tag/{name}"


def signed_by(a, actor, activity):
    return a.world.signed({"id": f"{actor}#{random.getrandbits(60)}", "actor": actor, **activity}, actor)


# --- Follows and Blocks ----------------------------------------------------------------------------------


@attack
def follows_of_one_actor(a):
    actor = a.world.actor("1")
    a.at_once(3, lambda i: a.ask(lambda: a.world.signed(follow(a.world, actor, hashtag(a, f"f{a.next()}")), actor), a.source(i)))


@attack
def follows_of_many_hashtags(a):
    """Each few enough to be taken, until the domain has all that it may have."""
    actor = a.world.actor("1", DOMAINS[0])

    def make():
        return a.world.signed(follow(a.world, actor, [hashtag(a, f"e{random.getrandbits(40)}") for _ in range(100)]), actor)

    a.ask(make)


@attack
def follows_of_many_actors(a):
    def make():
        actor = a.world.actor(f"f{a.next()}")
        return a.world.signed(follow(a.world, actor, [hashtag(a, f"g{random.getrandbits(40)}") for _ in range(100)]), actor)

    a.at_once(3, lambda i: a.ask(make, a.source(i)))


@attack
def follows_of_many_domains(a):
    a.domains = len(DOMAINS)

    def make():
        n = a.next()
        actor = a.world.actor(f"f{n % 3}", DOMAINS[n % len(DOMAINS)])
        return a.world.signed(follow(a.world, actor, [hashtag(a, f"h{random.getrandbits(40)}") for _ in range(100)]), actor)

    a.at_once(12, lambda i: a.ask(make, a.source(i)))


@attack
def blocks_of_one_actor(a):
    actor = a.world.actor("1")
    a.at_once(3, lambda i: a.ask(lambda: signed_by(a, actor, {"type": "Block", "object": hashtag(a, f"b{a.next()}")}), a.source(i)))


@attack
def blocks_of_many_domains(a):
    a.domains = len(DOMAINS)

    def make():
        n = a.next()
        actor = a.world.actor("b", DOMAINS[n % len(DOMAINS)])
        return signed_by(a, actor, {"type": "Block", "object": hashtag(a, "b" * 200 + str(n))})

    a.at_once(12, lambda i: a.ask(make, a.source(i)))


# --- searches --------------------------------------------------------------------------------------------


def search(a, uri):
    return a.world.get(f"/api/v2/search?q={uri}&resolve=true")


@attack
def searches_at_a_third_party(a):
    a.at_once(12, lambda i: a.ask(lambda: search(a, f"{a.world.origin_of(VICTIM)}/{a.next()}"), a.source(i)))


@attack
def searches_at_many_hosts(a):
    def make():
        n = a.next()
        return search(a, f"{a.world.origin_of(DOMAINS[n % len(DOMAINS)])}/notes/{n}")

    a.at_once(12, lambda i: a.ask(make, a.source(i)))


@attack
def searches_at_hosts_that_are_not(a):
    a.at_once(12, lambda i: a.ask(lambda: search(a, f"https://s{a.next()}.nowhere.invalid/1"), a.source(i)))


# --- a name server that is silent ------------------------------------------------------------------------


def needs_names(a):
    if a.world.network.why_no_names:
        a.skipped = f"no name server of its own: {a.world.network.why_no_names}"
    return not a.skipped


def silent_host(a):
    """Under ever new domains, for one has little."""
    n = a.next()
    return f"h{n}.silent{n % 400}.example"


@attack
def keys_at_names_that_nobody_resolves(a):
    if needs_names(a):
        a.at_once(60, lambda i: a.ask(lambda: a.world.signed(post_of(a.world, ["cats"]), genuine=False, key_id=f"https://{silent_host(a)}/key"),
                                      a.source(i)))


@attack
def searches_at_names_that_nobody_resolves(a):
    if needs_names(a):
        a.at_once(60, lambda i: a.ask(lambda: search(a, f"https://{silent_host(a)}/1"), a.source(i)))


# --- readers who do not read -----------------------------------------------------------------------------


def publish(a, n):
    """A long post of the node's own instance."""
    author = a.world.actor("1", OWN)
    path = f"/notes/{a.net}-{n}"
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    note = {"id": a.world.origin_of(OWN) + path, "type": "Note", "attributedTo": author, "to": PUBLIC, "published": now,
            "content": "<p>" + os.urandom(15_000).hex() + "</p>", "tag": [{"type": "Hashtag", "name": "#unread"}]}
    a.world.servers.notes[path] = {"@context": "https://www.w3.org/ns/activitystreams", **note}
    connection = a.world.open("127.0.2.1")
    connection.sendall(signed_by(a, author, {"type": "Create", "to": PUBLIC, "object": note}))
    a.read(connection)
    connection.close()


def much_to_read(a, readers):
    for reader in readers:
        if reader:
            a.hold(reader)
    n = 0
    while n < POSTS_MIN or not a.over():
        publish(a, n)
        n += 1


def narrow(connection):
    if connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return connection


@attack
def sockets_that_are_never_read(a):
    readers = [narrow(websocket(a, a.source(i // 30))) for i in range(240)]
    for reader in readers:
        if reader:
            a.send(reader, wish("subscribe", "unread"))
    much_to_read(a, readers)


@attack
def events_that_are_never_read(a):
    readers = [narrow(a.open(a.source(i // 30))) for i in range(240)]
    for reader in readers:
        if reader:
            a.send(reader, a.world.get("/api/v1/streaming/hashtag?tag=unread"))
    much_to_read(a, readers)


# --- who comes and goes ----------------------------------------------------------------------------------


@attack
def sockets_that_come_and_go(a):
    def churn(i):
        while not a.over():
            connection = websocket(a, a.source(i))
            if connection:
                a.send(connection, wish("subscribe", f"churn{a.next()}"))
                connection.close()

    a.at_once(4, churn)


@attack
def a_member_that_comes_and_goes(a):
    network = a.world.network
    while not a.over():
        try:
            network.start_node(MEMBER)
            a.requests += 1
            time.sleep(random.uniform(0.2, 3))  # before it has its places, or after
        except Failure:
            continue
        network.kill_node(MEMBER)


@attack
def members_that_are_not(a):
    candidates = false_predecessors(a, DOMAINS)

    def churn(i):
        while not a.over():
            connection = a.open(a.source(i))
            if connection:
                a.send(connection, notify(a, *random.choice(candidates)))
                connection.close()

    a.at_once(4, churn)
    see_whole_rings(a)


# --- TLS, of very many addresses -------------------------------------------------------------------------

ADDRESSES = 64
OF_EACH = 28  # more than all strangers may have
LONGEST_HELLO = b"\x16\x03\x01\x40\x00\x01\x02\x00\x00"  # the first of a ClientHello that is to have 128 KiB
RECORD = b"\x17\x03\x03\x40\x00"  # of 16 KiB, all of which must be there before any of it can be read


def client_hello(a):
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        a.world.context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=a.world.host).do_handshake()
    return out.read()


def open_all(a, take):
    """`take` as many connections as there are, by all addresses in turn."""
    def open_some(i):
        for number in range(OF_EACH):
            for source in range(i, ADDRESSES, 16):
                if not a.over():
                    take(a.source(source), number)

    a.at_once(16, open_some)
    time.sleep(max(0, a.ends - time.monotonic()))


def stop_in_record(a, connection):
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as beneath:
        beneath.settimeout(2)
        beneath.sendall(RECORD + bytes(0x3FFF))
        a.bytes += 0x4004


@attack
def handshakes_that_stop(a):
    """After the first message, or in the middle of it; there are always others."""
    hellos = [client_hello(a), LONGEST_HELLO + bytes(4096)]

    def take(source, number):
        try:
            connection = a.world.raw(source, timeout=5)
        except OSError:
            return
        a.send(connection, hellos[number % len(hellos)])
        a.hold(connection)

    open_all(a, take)


@attack
def records_that_stop(a):
    """Each connection is whole, and then sends all of a record but its last byte."""
    def take(source, number):
        connection = a.open(source)
        if connection:
            stop_in_record(a, connection)
            a.hold(connection)

    open_all(a, take)


@attack
def heads_that_stop(a):
    """As long as may be, and then of a record all but the last byte."""
    head = f"GET /actor HTTP/1.1\r\nHost: {a.world.authority}\r\nX-Much: ".encode().ljust(16_000, b"x")

    def take(source, number):
        connection = a.open(source)
        if connection and a.send(connection, head):
            stop_in_record(a, connection)
            a.hold(connection)

    open_all(a, take)


# --- IPv6 ------------------------------------------------------------------------------------------------


@attack
def idle_connections_of_a_48(a):
    """65,536 /64 are one customer's."""
    while not a.over() and len(a.held) < 700:
        a.hold(a.open(a.source6(len(a.held) % 256)))


@attack
def reads_of_a_48(a):
    a.at_once(4, lambda i: a.ask(lambda: a.world.get("/", Accept="text/html"), a.source6(i)))


@attack
def streams_of_a_48(a):
    while not a.over() and len(a.held) < 300:
        connection = a.open(a.source6(len(a.held) % 256))
        if connection and a.send(connection, a.world.get(f"/api/v1/streaming/hashtag?tag=s{len(a.held)}")):
            a.hold(connection)


@attack
def keys_for_a_48(a):
    def make():
        return a.world.signed(post_of(a.world, ["cats"]), genuine=False, key_id=f"{a.world.origin_of(DOMAINS[a.next() % 12])}/users/{a.next()}#k")

    a.at_once(12, lambda i: a.ask(make, a.source6(i)))


@attack
def searches_of_a_48(a):
    a.at_once(12, lambda i: a.ask(lambda: search(a, f"{a.world.origin_of(VICTIM)}/{a.next()}"), a.source6(i)))

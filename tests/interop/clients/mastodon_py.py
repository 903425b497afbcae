"""What Mastodon.py, the usual client library of Python, makes of a node, as it comes. Each line is a check; the last says how many passed.

    BASE     the node: "https://tags.oak.example:9445"
    POSTS    the URIs of those that are there, oldest first
    WORLD    the directory of the network, for its names
"""

import json
import os
import queue
import socket
import traceback
import urllib.request

hosts = json.load(open(os.environ["WORLD"] + "/hosts.json"))
ask = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: ask(hosts.get(host, host), *rest, **more)

from mastodon import Mastodon, StreamListener  # noqa: E402
from mastodon.errors import MastodonNotFoundError  # noqa: E402

POSTS = json.loads(os.environ["POSTS"])
totals = {"passed": 0, "failed": 0}


def check(what):
    def run(body):
        try:
            body()
            totals["passed"] += 1
            print(f"ok   {what}")
        except Exception:
            totals["failed"] += 1
            print(f"BAD  {what}: {traceback.format_exc()}")
    return run


def uris(statuses):
    return [status["uri"] for status in statuses]


client = Mastodon(api_base_url=os.environ["BASE"])


@check("the version, by which it decides what it may call")
def _():
    version = tuple(map(int, client.retrieve_mastodon_version().split(".")[:2]))
    assert version >= (4, 0), version


@check("the instance, its rules, peers, NodeInfo and health")
def _():
    assert client.instance()["title"], client.instance()
    assert client.instance_rules() == [] and client.instance_peers() == []
    assert client.instance_nodeinfo()["software"]["name"] == "tagring"
    assert client.instance_health() is True


@check("a timeline, newest first")
def _():
    page = client.timeline_hashtag("cats", limit=10)
    assert uris(page) == POSTS[::-1][:10], uris(page)
    assert page[0]["created_at"].tzinfo is not None
    assert page[0].account.acct.endswith(".example:" + os.environ["BASE"].rsplit(":", 1)[1]), page[0].account.acct


@check("its pages, forwards and back")
def _():
    first = client.timeline_hashtag("cats", limit=7)
    second = client.fetch_next(first)
    assert uris(second) == POSTS[::-1][7:14], uris(second)
    assert uris(client.fetch_previous(second)) == uris(first)
    assert uris(client.fetch_remaining(first)) == POSTS[::-1]


@check("hashtags in use, and search")
def _():
    assert "cats" in [tag["name"] for tag in client.trending_tags()]
    found = client.search_v2("#cats", result_type="hashtags")
    assert [tag["name"] for tag in found["hashtags"]] == ["cats"], found


@check("a post and its author by their ids, and what is around it")
def _():
    shown = client.timeline_hashtag("cats", limit=1)[0]
    assert client.status(shown["id"])["uri"] == shown["uri"]
    assert client.status_context(shown["id"])["ancestors"] == []
    assert client.account(shown["account"]["id"])["acct"] == shown["account"]["acct"]


@check("what is not there is said so")
def _():
    try:
        client.timeline_hashtag("cats/nothing")
    except MastodonNotFoundError:
        return
    raise AssertionError("there is such a hashtag")


@check("streaming is there")
def _():
    assert client.stream_healthy() is True


@check("a stream of a hashtag: what is published arrives")
def _():
    arrived = queue.Queue()

    class Listener(StreamListener):
        def on_update(self, status):
            arrived.put(status["uri"])

        def on_abort(self, err):
            arrived.put(err)

    stream = client.stream_hashtag("live", Listener(), run_async=True)
    written = []
    try:
        # What is published before the node is subscribed does not come.
        for _ in range(30):
            request = urllib.request.Request(os.environ["CONTROL"] + "/post", json.dumps({"text": "now #live"}).encode())
            written.append(json.load(urllib.request.urlopen(request))["id"])
            try:
                first = arrived.get(timeout=3)
                break
            except queue.Empty:
                pass
        assert first in written, first
    finally:
        stream.close()


print(f"{totals['passed']} passed, {totals['failed']} failed")

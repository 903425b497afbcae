"""Subcommands that ask a node, the real binary: what they ask, print and exit with. A socket here answers for the node."""

import json
import os
import pty
import socketserver
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

from terminal import on_terminal

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("TAGRING_BINARY") or ROOT / "build" / "release" / "tagring")
CONFIG = """
[node]
host = "tags.example.net"
address = "192.0.2.1"
data = "{data}"

[listen]
socket = "http.sock"

[ring]
create = true
"""


HOST = "a-name-that-is-long.of-a-server.below-a-domain.example"
AUTHOR = f"https://{HOST}/users/ann"
LINK = {"style": "person", "relay": "https://tags.example.net/actor", "actor": AUTHOR, "accepted": True, "followed_back": "waits"}
REASON = "advertising\nof several kinds, by accounts that are made anew as soon as one of them is suspended"
REPLAY = {"host": HOST, "tag": "caturday", "state": "waiting", "sent": 1234, "estimated": 50000, "skipped": 7, "per_minute": 60, "oldest": "2026-01-01T00:00:00Z",
          "newest": "2026-11-01T00:00:00Z", "reason": "its server says 503", "waits_until": "", "failing_since": "2026-11-23T10:00:00Z"}
REPORT = {"id": 7, "at": "2026-11-23T10:00:00Z", "from": "https://far.example/actor", "comment": REASON, "about": ["https://social.example/notes/1"], "forwarded": [], "open": True}
RING = {"member": True, "serving": True, "share": 0.796, "vservers": 20, "estimated_vservers": 24, "load": 5.5e8, "capacity": 5e9}
FASP = {"host": "a-server.of-30-letters.example", "fingerprint": "Ao5P7ZsT0f2m9oQ8vXc1bN4yKq3wE6rT7uI8oP9aS0d=", "capabilities": ["data_sharing", "trends", "account_search"], "hashtags": ["cats"],
        "completion_url": "", "refused": True, "backfill": {"received": 10, "wanted": 1000}}
# Every list of a command: what the node answers, and what has to be there of it, whole.
LISTS = {
    ("block", "list"): ("/blocks", {"blocks": [{"kind": "domain", "what": HOST, "source": "tier0", "reason": REASON}, {"kind": "tag", "what": "x", "source": "", "reason": ""},
                                               {"kind": "author", "what": AUTHOR, "source": "", "reason": ""}],
                                    "separations": [{"host": HOST, "direction": "receive", "other": "social.example"}]}, ["advertising", "suspended", f"{HOST} never gets posts of", "tier0", AUTHOR]),
    ("instance", "list"): ("/instances", {"instances": [{"host": HOST, "publishes": True, "receives": False, "hashtags": 12, "links": [LINK, {**LINK, "followed_back": "rejected"}]}]},
                           ["(waits", "accept),", "(does", "follow)", f"\n{HOST} ", AUTHOR]),
    ("instance", "hashtags", "x.example"): ("/instances/hashtags?host=x.example", {"hashtags": ["caturday"], "reasons": {"caturday": ["followed_tags, line 3", f"people of {HOST}", "mastodon_database"]},
                                                                                   "sources": []}, ["#caturday", "line", "mastodon_database"]),
    ("instance", "replays"): ("/instances/replays", {"replays": [REPLAY, {**REPLAY, "host": "b.example", "failing_since": "", "reason": ""}]}, ["1234/50000", "2026-01-01", "waiting", "503", f"\n{HOST} "]),
    ("fasp", "list"): ("/fasp", {"servers": [FASP, {**FASP, "host": "yew.example", "capabilities": [], "refused": False, "completion_url": "https://yew.example/admin/fasp/providers/7"}]},
                       [FASP["host"], FASP["fingerprint"], "account_search", "does not know this node any more", "https://yew.example/admin/fasp/providers/7"]),
    ("status",): ("/status", {"origin": "https://tags.example.net", "version": "0.1.0", "ready": True, "because": [], "problems": [{"name": "instance", "detail": REASON.replace("\n", " "), "what_to_do": REASON.replace("\n", " ")}],
                              "rings": {"relay": RING}, "moved": {"to": f"https://{HOST}", "since": "2026-11-26T10:00:00Z", "until": "2026-12-26T10:00:00Z", "on_rings": True}, "followers_unlisted": 10**6,
                              "fronts": [{"at": "[2001:db8:1:2:3:4:5:6]:7946", "version": "0.1.0", "brought": 10**9, "sent": 10**9}], "forecast": {"text": "what comes fills the disk in three weeks, but before that old posts go, beyond 10 GB"}},
                  [f"https://{HOST}", "2026-12-26T10:00:00Z", "suspended", "79.6 %", "compared"]),
    ("report", "list"): ("/reports", {"reports": [REPORT]}, ["advertising", "suspended", "https://social.example/notes/1"]),
}
# Those with words that have no room beside each other in 80 columns: there their rows stand apart.
WIDE = {("block", "list"), ("instance", "list"), ("instance", "replays"), ("fasp", "list")}


class Answers(BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        self.server.asked.append((self.path, body))
        text = json.dumps(self.server.answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def address_string(self):
        return "socket"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Client(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.config = Path(folder.name) / "tagring.toml"
        self.config.write_text(CONFIG.format(data=folder.name))
        self.server = Server(str(Path(folder.name) / "control.sock"), Answers)
        self.server.asked, self.server.answers = [], {}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    # With nobody there to be asked, wherever the tests are run, unless it is said otherwise.
    def run_it(self, *arguments, code=0, stdin=subprocess.DEVNULL, **options):
        done = subprocess.run([BINARY, *arguments, "--config", self.config], capture_output=True, text=True, timeout=60, stdin=stdin, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_reports_are_listed_forwarded_and_closed(self):
        post = "https://social.example/notes/1"
        report = {"id": 7, "at": "2026-11-23T10:00:00Z", "from": "https://far.example/actor", "comment": "spam", "about": [post], "forwarded": [], "open": True}
        closed = {**report, "id": 6, "open": False, "forwarded": [post]}
        self.server.answers = {"/reports": {"reports": [report, closed]}, "/reports/forward": {"forwarded": [post]}, "/reports/close": {}}
        shown = self.run_it("report", "list")
        self.assertIn("7 2026-11-23T10:00:00Z https://far.example/actor", shown)
        self.assertIn('"spam"', shown)
        self.assertIn(f"about {post}", shown)
        self.assertNotIn("   6 ", shown)
        self.assertIn("(closed)", self.run_it("report", "list", "--all"))
        self.assertIn(f"told the server of {post}", self.run_it("report", "forward", "7", post))
        self.assertIn("closed", self.run_it("report", "close", "7"))
        self.assertEqual(self.server.asked[-2:], [("/reports/forward", {"id": 7, "uri": post}), ("/reports/close", {"id": 7})])
        self.server.answers["/reports"] = {"reports": [closed]}
        self.assertIn("there are no open reports", self.run_it("report", "list"))

    def test_query_says_that_there_are_older_posts_and_how_to_go_on(self):
        uri, cursor = "https://social.example/notes/1", "1795000000000~https%3A%2F%2Fsocial.example%2Fnotes%2F1"
        page = {"tag": "cats", "entries": [{"published": 1795000000000, "uri": uri}], "disputed": 0}
        newest = "/history?tag=cats&limit=200"
        self.server.answers = {newest: {**page, "before": cursor}, f"{newest}&before={quote(cursor, safe='')}": page}
        self.assertIn(f"{uri}\nolder ones: --before '{cursor}'\n", self.run_it("query", "cats", "--limit", "200"))
        self.assertNotIn("older ones", self.run_it("query", "cats", "--limit", "200", "--before", cursor))
        self.assertEqual(len(self.server.asked), 2)

    def test_instance_list_says_who_has_not_accepted(self):
        def link(name, back, **more):
            return {"style": "person", "relay": "https://tags.example.net/actor", "actor": f"https://gts.example/users/{name}", "accepted": True, "followed_back": back, **more}

        item = {"host": "gts.example", "publishes": False, "receives": False, "hashtags": 0, "links": [link("ann", "waits"), link("bob", "rejected"), link("eve", "accepted")]}
        self.server.answers = {"/instances": {"instances": [item]}}
        shown = self.run_it("instance", "list")
        self.assertIn("person https://gts.example/users/ann (waits for them to accept), person https://gts.example/users/bob (does not let this node follow), person https://gts.example/users/eve\n", shown)

    def test_instance_list_says_who_was_not_reached(self):
        link = {"style": "mastodon", "relay": "https://tags.example.net/actor", "actor": "https://oak.example/actor", "accepted": True}
        links = [{**link, "untaken": "HTTP status 500"}, {**link, "relay": "https://tags.example.net/relay"}]
        links.append({**link, "relay": "https://tags.example.net/tag/cats", "untaken": ""})
        item = {"host": "oak.example", "publishes": True, "receives": True, "hashtags": 1, "links": links, "fails": "timed out"}
        self.server.answers = {"/instances": {"instances": [item]}}
        self.assertIn("mastodon (has not taken the Accept: HTTP status 500), mastodon by /relay, mastodon #cats (is being told so), takes nothing now: timed out\n", self.run_it("instance", "list"))

    def test_groups_are_followed_listed_and_left(self):
        group, tag_actor = "https://lemmy.example/c/birds", "https://tags.example.net/tag/birds"
        link = {"style": "group", "relay": tag_actor, "actor": group, "accepted": True, "followed_back": "waits"}
        item = {"host": "lemmy.example", "publishes": True, "receives": False, "hashtags": 0, "links": [link]}
        self.server.answers = {"/instances": {"instances": [item]}, "/instances/follow": {"group": group, "by": tag_actor}, "/instances/unfollow": {"unfollowed": group}}
        self.assertIn(f"followed: {group} by #birds (waits for them to accept)\n", self.run_it("instance", "list"))
        self.assertIn(f"{tag_actor} asks to follow {group}", self.run_it("instance", "follow", group))
        self.run_it("instance", "follow", group, "owls")
        self.assertIn("not followed any more", self.run_it("instance", "unfollow", group))
        wishes = [("/instances/follow", {"group": group}), ("/instances/follow", {"group": group, "tag": "owls"}), ("/instances/unfollow", {"group": group})]
        self.assertEqual(self.server.asked[-3:], wishes)

    def test_move_says_what_the_node_does_and_what_administrators_have_to(self):
        there = "https://tags.example.com"
        moved = {"to": there, "since": "2026-11-26T10:00:00Z", "until": "2026-12-26T10:00:00Z", "told": False, "on_rings": True}
        instances = [{"host": "social.example", "style": "mastodon", "add": f"{there}/inbox"}]
        groups = [{"group": "https://lemmy.example/c/birds", "tag": "owls"}]
        self.server.answers = {"/move": {"moved": moved, "instances": instances, "groups": groups}, "/move/cancel": {"rejoins": True}}
        shown = self.run_it("move", there)
        self.assertEqual(self.server.asked[-1], ("/move", {"to": there}))
        self.assertIn(f"moved to {there}", shown)
        self.assertRegex(shown, f"social.example +to add {there}/inbox\n")
        self.assertIn("tagring instance follow https://lemmy.example/c/birds owls\n", shown)
        self.assertIn("gets posts until 2026-12-26T10:00:00Z", shown)
        self.run_it("move")
        self.assertEqual(self.server.asked[-1], ("/move", {}))
        moved["on_rings"] = False
        self.assertIn("not on the rings any more", self.run_it("move"))
        self.assertIn("restart it", self.run_it("move", "--cancel"))
        self.assertEqual(self.server.asked[-1], ("/move/cancel", {}))
        self.assertIn("excludes", self.run_it("move", there, "--cancel", code=2))
        self.server.answers["/move"] = {"moved": None, "instances": [], "groups": []}
        self.assertEqual(self.run_it("move"), "this node has not moved\n")

    def test_leaving_fails_while_not_all_is_with_its_owners(self):
        whole = {"handed_over": 4, "not_handed_over": []}
        left = {"left": True, "relay": whole, "storage": whole, "owed": 0}
        self.server.answers = {"/leave": left, "/status": {"owed": 0}}
        shown = self.run_it("leave")
        self.assertRegex(shown, "relay +4 places handed over\nstorage +4 places handed over\nStop the node now.")
        self.server.answers["/leave"] = {**left, "owed": 3}
        self.assertIn("Stop the node now.", self.run_it("leave"))
        self.assertEqual(self.server.asked[-1], ("/status", {}), "it has waited")
        self.server.answers["/leave"] = {**left, "storage": {"handed_over": 3, "not_handed_over": [{"vserver": 7, "because": "n2.example: refused"}]}}
        shown = self.run_it("leave", code=1)
        self.assertRegex(shown, "storage +3 places handed over, but not these:\n  place 7: n2.example: refused\n")
        self.assertIn('Stop the node when "tagring status" has shown', shown)
        self.assertEqual(json.loads(self.run_it("leave", "--json", code=1)), self.server.answers["/leave"])
        self.server.answers = {"/leave": {**left, "owed": 3}}
        self.assertIn("3 posts wait for owners to take them", self.run_it("leave", code=1))

    def test_status_tells_a_ring_that_is_being_left_from_one_that_is(self):
        gone = {"member": False, "leaving": False, "left": True, "serving": False, "share": 0, "vservers": 0, "estimated_vservers": 0, "load": 0, "capacity": 1}
        rings = {"relay": gone, "storage": {**gone, "leaving": True, "left": False, "share": 0.25, "vservers": 4}}
        self.server.answers = {"/status": {"origin": "https://tags.example.net", "version": "1", "ready": True, "problems": [], "rings": rings}}
        shown = self.run_it("status")
        self.assertRegex(shown, "relay +has left the ring;")
        self.assertRegex(shown, "storage +is leaving the ring: leave it running; 25.0 % of the ring at 4 places")

    def test_status_and_the_list_of_instances_say_that_the_node_has_moved(self):
        there = "https://tags.example.com"
        status = {"origin": "https://tags.example.net", "ready": True, "because": [], "problems": [], "rings": {}}
        self.server.answers = {"/status": status, "/instances": {"instances": []}}
        self.assertNotIn("MOVED", self.run_it("status"))
        self.assertNotIn("moved", self.run_it("instance", "list"))
        status["moved"] = {"to": there, "since": "2026-11-26T10:00:00Z", "until": "2026-12-26T10:00:00Z", "on_rings": True}
        self.server.answers["/instances"]["moved_to"] = there
        self.assertIn(f"MOVED to {there} on 2026-11-26T10:00:00Z; it leaves the rings after 2026-12-26T10:00:00Z", self.run_it("status"))
        self.assertIn(f"This node has moved to {there}", self.run_it("instance", "list"))

    def test_what_a_list_lifts_does_not_bring_relays_back(self):
        effect = {"fresh": 0, "known": 1, "lifted": ["spam.example"], "followers": [], "instances": [], "skipped": []}
        self.server.answers = {"/blocks/lift": effect}
        shown = self.run_it("block", "lift", "tier0")
        self.assertTrue(shown.startswith("lifted tier0\n  lifted the block of spam.example\n"), shown)
        self.assertIn("instances add the relay, people follow the hashtag", shown)
        self.server.answers = {"/blocks/lift": {**effect, "lifted": []}}
        self.assertNotIn("has to add", self.run_it("block", "lift", "tier0"))

    def test_who_blocks_a_whole_ending_is_told(self):
        self.server.answers = {"/blocks/add": {"fresh": 1, "known": 0, "suffixes": ["social"]}}
        self.assertIn("note: every server of this ending falls under it: social", self.run_it("block", "add", "domain", "social"))

    def test_who_blocks_an_instance_of_the_nodes_own_is_warned(self):
        self.server.answers = {"/blocks/add": {"fresh": 1, "known": 0, "own": ["own.example is an instance of this node's own"]}}
        self.assertIn("WARNING: own.example is an instance of this node's own", self.run_it("block", "add", "domain", "own.example"))

    def test_an_empty_word_is_not_none(self):
        for arguments, what in [
            (("login", "--name", ""), "--name is empty"), (("login", "--end", "--name", ""), "--name is empty"), (("login", "--name="), "--name needs a value"),
            (("upgrade", ""), "FILE is empty"), (("restore", ""), "FILE is empty"), (("report", "forward", "7", ""), "URI is empty"), (("move", ""), "TO is empty"),
            (("instance", "subscribe", "social.example", "cats", ""), "TAGS is empty"), (("feed", "--tag", ""), "--tag is empty"), (("block", "import", "", "--source", "x"), "FILE is empty"),
            (("setup", "--network", ""), "--network is empty"), (("setup", "--network=", "--create"), "--network needs a value"),
        ]:
            shown = self.run_it(*arguments, code=2)
            self.assertTrue(shown.startswith(f"tagring: {what}; see tagring {arguments[0]}"), shown)
        self.assertEqual(self.server.asked, [])
        self.server.answers = {"/login": {"url": "https://tags.example.net/admin#x", "seconds": 3600, "role": "all"}, "/reports/forward": {"forwarded": []}}
        self.run_it("login")
        self.run_it("report", "forward", "7")
        self.assertEqual(self.server.asked, [("/login", {"role": "all"}), ("/reports/forward", {"id": 7})])

    def test_of_two_options_that_contradict_none_is_passed_over(self):
        for arguments in (("login", "--end", "--role", "look"), ("setup", "--socket", "/run/s", "--certificate", "c.pem"), ("setup", "--key", "k.pem", "--socket", "/run/s")):
            self.assertIn("excludes", self.run_it(*arguments, code=2))
        self.assertEqual(self.server.asked, [])

    def test_a_server_is_asked_to_take_the_node_as_a_fasp(self):
        answer = {"host": "elk.example", "completion_url": "https://elk.example/admin/fasp/providers/7", "fingerprint": "abc=", "had_it_before": True}
        self.server.answers = {"/fasp/register": answer}
        shown = self.run_it("fasp", "register", "elk.example")
        for part in ("https://elk.example/admin/fasp/providers/7", "abc=", "delete that there"):
            self.assertIn(part, shown)
        self.assertEqual(self.server.asked[-1], ("/fasp/register", {"server": "elk.example"}))

    def test_a_server_that_has_taken_the_node_out_of_its_list_is_shown(self):
        server = {"host": "elk.example", "fingerprint": "x", "capabilities": ["data_sharing"], "hashtags": [], "completion_url": "", "refused": True}
        self.server.answers = {"/fasp": {"servers": [server]}}
        self.assertIn("does not know this node any more", self.run_it("fasp", "list"))
        server["refused"] = False
        self.assertNotIn("any more", self.run_it("fasp", "list"))
        self.assertNotIn("wait since", self.run_it("fasp", "list"))
        server["untold"] = {"waiting": 3, "failing_since": "2026-11-29T13:00:00Z", "reason": "HTTP status 503"}
        self.assertIn("elk.example: 3 announcements wait since 2026-11-29T13:00:00Z: HTTP status 503", self.run_it("fasp", "list"))

    def test_what_an_instance_was_not_subscribed_to_is_said_to_be_so(self):
        self.server.answers = {"/instances/subscribe": {"host": "social.example", "subscribed": ["cats"]}, "/instances/unsubscribe": {"host": "social.example", "unsubscribed": ["cats"], "unknown": ["catruday"]}}
        self.assertEqual(self.run_it("instance", "subscribe", "social.example", "cats", "Cats"), "social.example: subscribed #cats\n")
        self.assertEqual(self.run_it("instance", "unsubscribe", "social.example", "cats", "catruday"), "social.example: unsubscribed #cats\nsocial.example: #catruday was not subscribed\n")

    def test_an_instance_without_hashtags_says_why(self):
        self.server.answers = {"/instances/hashtags?host=social.example": {"hashtags": [], "reasons": {}, "sources": [{"source": "followed_tags, line 3", "hashtags": 0, "note": "not read"}]}}
        self.assertEqual(self.run_it("instance", "hashtags", "social.example"), "no hashtags\n(followed_tags, line 3: not read)\n")

    def test_a_check_of_followers_that_differ_fails_unless_they_were_repaired(self):
        actor = "https://far.example/users/ann"
        report = {"actor": actor, "url": actor + "/followers_synchronization", "remove": [], "accept": [], "undo": [], "too_young": 0, "agree": False, "applied": False, "repaired": False}
        for change, options, code, text in [
            ({"agree": True}, [], 0, "Both sides agree."),
            ({"remove": ["https://tags.example.net/tag/cats"]}, [], 1, "They differ; nothing was changed."),
            ({"too_young": 1}, ["--apply"], 1, "They differ; nothing could be repaired now."),
            ({"doubt": "foreign"}, ["--apply"], 1, "They differ; nothing could be repaired now."),
            ({"accept": [actor], "too_young": 1, "applied": True}, ["--apply"], 1, "They differed; repaired in part."),
            ({"accept": [actor], "applied": True, "repaired": True}, ["--apply"], 0, "They differed; repaired."),
        ]:
            self.server.answers = {"/followers/check": {**report, **change}}
            self.assertIn(text, self.run_it("followers-check", actor, *options, code=code))

    def test_a_check_of_a_servers_followers_fails_if_anything_says_that_the_two_sides_differ(self):
        report = {"actor": "https://tags.example.net/tag/cats", "server": "social.example", "count": 1, "digest": "ab" * 32, "followers": ["https://social.example/users/ann"]}
        problem = "the list was fetched after the last header"
        well = "Nothing says that the two sides differ."
        for problems, code, text, other in [([], 0, well, "problem"), ([problem], 1, problem, well), ([problem, "another"], 1, "another", well)]:
            self.server.answers = {"/followers/check": {**report, "problems": problems}}
            shown = self.run_it("followers-check", "--tag", "cats", "--server", "social.example", code=code)
            self.assertIn(text, shown)
            self.assertNotIn(other, shown)
            self.assertEqual(json.loads(self.run_it("followers-check", "--server", "social.example", "--json", code=code))["problems"], problems)
        self.assertEqual(self.server.asked[:2], [("/followers/check", {"server": "social.example", "tag": "cats"}), ("/followers/check", {"server": "social.example"})])
        self.server.answers = {"/followers/check": {**report, "problems": [], "unknown": True}}
        shown = self.run_it("followers-check", "--server", "social.example")
        self.assertIn("whether the two sides agree is not known", shown)
        self.assertNotIn(well, shown)

    def test_a_check_of_followers_shows_a_header_that_was_not_about_the_list(self):
        actor = "https://far.example/users/ann"
        for said, shown in [("ab" * 32, False), ("cd" * 32, True)]:
            self.server.answers = {"/followers/check": {"actor": actor, "url": actor, "agree": True, "listed": {"count": 1, "digest": "ab" * 32}, "digest_of_header": said}}
            self.assertEqual("the last header was not about this list" in self.run_it("followers-check", actor), shown)

    def test_a_replay_that_may_trend_is_asked_for_first(self):
        self.server.answers = {"/instances/replay": {"tag": "cats", "not_before": "2026-11-01T00:00:00Z", "max_posts": 5, "per_minute": 60, "authors_per_day": 50, "trends": True}}
        many = ("instance", "replay", "social.example", "cats", "--max-age", "14d", "--authors-per-day", "50")

        def wish():
            return self.server.asked[-1][1]["may_trend"]

        self.run_it("instance", "replay", "social.example", "cats", "--max-age", "14d")
        self.assertFalse(wish())
        self.run_it(*many)
        self.assertFalse(wish())
        self.run_it(*many, "--may-trend")
        self.assertTrue(wish())
        for answer, agreed in (("n\n", False), ("y\n", True)):
            ours, theirs = pty.openpty()
            os.write(ours, answer.encode())
            self.assertIn("may take the hashtag for trending", self.run_it(*many, stdin=theirs))
            self.assertEqual(wish(), agreed)
            os.close(ours)
            os.close(theirs)

    def test_how_long_an_instance_keeps_posts_is_asked_for_where_somebody_is_there(self):
        self.server.answers = {"/instances/replay": {"tag": "cats", "not_before": "2026-11-01T00:00:00Z", "max_posts": 5, "per_minute": 60, "authors_per_day": 4, "begins": "2026-11-03T18:00:00Z"}}
        command = ("instance", "replay", "social.example", "cats")

        def wish():
            return self.server.asked[-1][1].get("max_age_s")

        self.run_it(*command)
        self.assertIsNone(wish())  # the node asks for it
        for given, seconds in (("14d", 14 * 86_400), ("forever", 0)):
            self.assertIn("the first ones go at 2026-11-03T18:00:00Z", self.run_it(*command, "--max-age", given))
            self.assertEqual(wish(), seconds)
            ours, theirs = pty.openpty()
            os.write(ours, f"{given}\n".encode())
            self.assertIn("How long does social.example keep posts of others", self.run_it(*command, stdin=theirs))
            self.assertEqual(wish(), seconds)
            os.close(ours)
            os.close(theirs)
        asked = len(self.server.asked)
        self.assertIn("or forever", self.run_it(*command, "--max-age", "14", code=2))
        self.assertEqual(len(self.server.asked), asked)

    def test_of_a_replay_that_waits_it_is_said_why(self):
        busy = "#cats has 5 authors a day by itself here"
        self.server.answers = {"/instances/replay": {"tag": "cats", "waits_for": busy, "begins": "2026-11-03T18:00:00Z"}}
        self.assertIn(busy, self.run_it("instance", "replay", "social.example", "cats", "--max-age", "14d"))
        waiting = {"host": "social.example", "tag": "cats", "state": "sending", "waits_until": "2026-11-03T18:00:00Z", "waits_for": busy}
        self.server.answers = {"/instances/replays": {"replays": [waiting]}}
        self.assertIn(f"waits until 2026-11-03T18:00:00Z: {busy}\n", self.run_it("instance", "replays"))

    def test_what_is_empty_is_said_to_be_in_words_of_people(self):
        self.assertEqual(self.run_it("backup", "", code=2), "tagring: FILE is empty; see tagring backup --help\n")
        done = subprocess.run([BINARY, "setup", "--config", ""], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (2, "tagring: --config is empty; see tagring setup --help\n"))
        done = subprocess.run([BINARY], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("doctor", done.stderr)
        self.assertNotIn("subcommand is required", done.stderr)

    def test_a_file_that_cannot_be_read_is_not_one_that_proves_nothing(self):
        file = self.config.parent / "evidence.json"
        self.assertIn("No such file", self.run_it("audit", "--verify", file, code=2))
        for text in ("", "no JSON", "[]", "{}"):
            file.write_text(text)
            self.assertIn("not proved: ", self.run_it("audit", "--verify", file, code=1))
            self.assertIs(json.loads(self.run_it("audit", "--verify", file, "--json", code=1))["proved"], False)

    def test_an_audit_that_nobody_answers_does_not_say_that_nothing_is_missing(self):
        report = {"tag": "cats", "at": "2026-11-21T02:24:00Z", "posts": 2, "receipts": 2, "unchecked": 0, "owners": [{"owner": "https://a.example", "posts": 0, "error": "busy"}]}
        self.server.answers = {"/audit?tag=cats": {**report, "findings": []}}
        self.assertIn("nothing is missing", self.run_it("audit", "cats"))
        words = "no owner of cats said what it has of 2 posts"
        self.server.answers = {"/audit?tag=cats": {**report, "findings": [{"kind": "unanswered", "owner": "", "uri": "", "words": words}]}}
        said = self.run_it("audit", "cats", code=1)
        self.assertIn(words, said)
        self.assertNotIn("nothing is missing", said)

    def test_numbers_have_bounds_that_can_be_read(self):
        for arguments in (("fasp", "backfill", "social.example", "--posts", "0"), ("instance", "replay", "social.example", "cats", "--per-minute", "0")):
            self.assertLess(len(self.run_it(*arguments, code=2)), 300)

    def test_where_no_node_answers_it_is_said_where_one_may(self):
        self.server.shutdown()
        self.server.server_close()
        (self.config.parent / "control.sock").unlink()
        plain = self.config.read_text()
        self.assertIn('start it with "tagring run', self.run_it("status", code=1))
        several = plain + '[database]\npostgres = "host=/nowhere"\n'
        self.config.write_text(several)
        self.assertIn("if a front runs here, ask on the machine of its core", self.run_it("status", code=1))
        self.config.write_text(several + "standby = true\n")
        self.assertIn("if it stands by here, ask on the other machine", self.run_it("status", code=1))
        self.assertIn("PostgreSQL cannot be reached", self.run_it("doctor", code=1))

        front = HTTPServer(("127.0.0.1", 0), Answers)
        self.addCleanup(front.server_close)
        self.addCleanup(front.shutdown)
        threading.Thread(target=front.serve_forever, daemon=True).start()
        says = {"role": "front", "at": "10.0.0.6:7946", "version": "0.1.0", "core": "10.0.0.5:7946", "core_answers": True}
        front.asked, front.answers = [], {"/readyz": says}
        self.config.write_text(several + f"[metrics]\nport = {front.server_port}\n")
        self.assertIn("what runs here is a front, at 10.0.0.6:7946: ask on the machine of its core, 10.0.0.5:7946\n", self.run_it("status", code=1))
        front.answers = {"/readyz": {**says, "core_answers": False}}
        self.assertIn("10.0.0.5:7946, which does not answer it now", self.run_it("status", code=1))
        checks = {one["name"]: one for one in json.loads(self.run_it("doctor", "--json", code=1))["checks"]}
        self.assertEqual((checks["front"]["ok"], checks["front"]["detail"]), (False, "runs here at 10.0.0.6:7946, tagring 0.1.0, and its core at 10.0.0.5:7946 does not answer"))
        self.assertFalse({"node", "disk"} & set(checks))

    def test_what_is_no_number_is_taken_for_none(self):
        for number in ("-1", "99999999999999999999", "7x", "0x7", ""):
            for arguments in (("feed", "--after", number), ("feed", "--limit", number), ("query", "cats", "--limit", number), ("report", "close", number),
                              ("fasp", "backfill", "social.example", "--posts", number), ("instance", "replay", "social.example", "cats", "--max-posts", number)):
                self.assertIn(f"'{number}' is no number from ", self.run_it(*arguments, code=2))
        self.assertEqual(self.server.asked, [])
        greatest = 2**64 - 1
        self.server.answers = {f"/feed?limit=100&after={greatest}": {"entries": []}}
        self.assertIn(f"nothing after {greatest}: ", self.run_it("feed", "--after", str(greatest)))

    def test_an_empty_list_says_so(self):
        self.server.answers = {"/feed?limit=100&tag=cats": {"entries": []}, "/instances/replays": {"replays": []}, "/fasp": {"servers": []}}
        self.assertIn("nothing under cats: posts come of the hashtags that are subscribed", self.run_it("feed", "--tag", "cats"))
        self.assertEqual(self.run_it("instance", "replays"), "no replay is under way\n")
        self.assertEqual(self.run_it("fasp", "list"), "no server uses this node as a FASP\n")

    def test_every_list_fits_the_terminal_and_is_whole_elsewhere(self):
        for group in ("block", "instance", "fasp", "report"):
            listed = subprocess.run([BINARY, group, "--help"], capture_output=True, text=True, timeout=60).stdout
            names = {name for name in ("list", "hashtags", "replays") if f"\n  {name} " in listed}
            self.assertEqual(names, {command[1] for command in LISTS if command[0] == group})
        for command, (path, answer, whole) in LISTS.items():
            self.server.answers = {path: answer}
            for columns in (170, 80):
                code, shown = on_terminal(BINARY, *command, "--config", self.config, columns=columns, NO_COLOR="1")
                self.assertEqual(code, 0, shown)
                self.assertLessEqual(max(map(len, shown.splitlines())), columns, shown)
                self.assertNotIn("…", shown)
                for words in whole:
                    self.assertIn(words.strip() if command in WIDE and columns == 80 else words, shown)
            piped = self.run_it(*command)
            self.assertNotIn("…", piped)
            self.assertNotIn("\033", piped)
            self.assertLess(piped.count("\n"), shown.count("\n"), piped)
            self.assertEqual(json.loads(self.run_it(*command, "--json")), answer)
        self.server.answers = {path: answer for path, answer, _ in LISTS.values()}
        for command, heading in [("instance", "instance "), ("fasp", "server ")]:
            self.assertTrue(self.run_it(command, "list").startswith(heading))
        for (command, *words), heading, first in [(["block", "list"], "kind ", "domain "), (["instance", "hashtags", "x.example"], "hashtag ", "#caturday ")]:
            self.assertTrue(self.run_it(command, *words).startswith(first), "scripts know it without a heading")
            _, shown = on_terminal(BINARY, command, *words, "--config", self.config, columns=170, NO_COLOR="1")
            self.assertTrue(shown.startswith(heading), shown)
        *lines, separation = self.run_it("block", "list").splitlines()
        self.assertEqual(separation, f"{HOST} never gets posts of social.example")
        starts = [line.index(word) for line, word in zip(lines, (HOST, "x", AUTHOR), strict=True)]
        self.assertEqual(len(set(starts)), 1, lines)

    def test_what_show_prints_for_programs_is_one_line_each(self):
        hosts = [f"{name}.{HOST}" for name in ("oak", "elm", "ash")]
        setting = {"key": "publish.instances", "value": hosts, "type": "list of names", "default": "none", "meaning": "Whose posts the node publishes. " * 5, "at_once": True}
        history = {"octets": 7, "octets_max": 10**9, "keep_days": 365, "let_go": 0}
        self.server.answers = {"/storage": {"entries": 7, "history": history}, "/settings": {"settings": [setting]}}
        entries, line = self.run_it("show", "storage").splitlines()
        self.assertEqual((entries, json.loads(line.removeprefix("history: "))), ("entries: 7", history))
        _, shown = on_terminal(BINARY, "show", "storage", "--config", self.config)
        self.assertIn("history: octets 7, octets_max 1000000000, keep_days 365, let_go 0\n", shown)
        key, meaning = self.run_it("show", "settings").splitlines()
        self.assertEqual((key, meaning[:7]), (f"publish.instances = {json.dumps(hosts, separators=(',', ':'))}", "      l"))
        _, shown = on_terminal(BINARY, "show", "settings", "--config", self.config)
        self.assertIn(f'publish.instances =\n    "{hosts[0]}"\n    "{hosts[1]}"\n', shown)
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)

    def test_what_others_wrote_does_nothing_to_a_terminal(self):
        obeyed = "\x1b[2J\u009b2J\u202e"
        server = {"host": "elk.example", "fingerprint": "x", "capabilities": ["trends"], "untold": {"waiting": 1, "failing_since": "", "reason": f"no{obeyed}"}}
        self.server.answers = {"/fasp": {"servers": [server]}, "/storage": {"a": f"no{obeyed}", "b": {"c": f"no{obeyed}"}},
                               "/instances/hashtags?host=x.example": {"hashtags": [], "sources": [{"source": "people", "note": f"no{obeyed}"}]}}
        for command in (("fasp", "list"), ("show", "storage"), ("instance", "hashtags", "x.example")):
            _, seen = on_terminal(BINARY, *command, "--config", self.config, NO_COLOR="1")
            for shown in (seen, self.run_it(*command)):
                self.assertIn("no", shown)
                self.assertFalse(set(obeyed) - set("[2J") & set(shown), shown)

    def test_what_doctor_says_of_an_instance_fits_the_terminal(self):
        for name in ("disk", "instance social.example", f"instance {HOST}"):
            check = {"name": name, "ok": False, "detail": REASON.replace("\n", " "), "what_to_do": REASON.replace("\n", " ")}
            self.server.answers = {"/doctor": {"ok": False, "checks": [check]}}
            code, shown = on_terminal(BINARY, "doctor", "--config", self.config, NO_COLOR="1")
            self.assertEqual(code, 1, shown)
            self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
            self.assertEqual(shown.split().count("suspended"), 2, shown)
            self.assertIn(f"BAD  {name:<14} {check['detail']}\n", self.run_it("doctor", code=1))

    def test_what_is_missing_is_named_with_what_it_is(self):
        for arguments, says in [(("show",), "tagring show needs WHAT (Which list); see tagring show --help"), (("block", "add"), "tagring block add needs KIND (domain"),
                                (("block", "add", "tag"), "tagring block add needs WHAT (Host name"), (("subscribe",), "tagring subscribe needs TAGS (Hashtags"),
                                (("login", "--name"), "--name needs a value; see tagring login --help"), (("feed", "--tag"), "--tag needs a value; see tagring feed --help")]:
            self.assertIn(says, self.run_it(*arguments, code=2))
        done = subprocess.run([BINARY, "id", "--domain", "tags.example.net"], capture_output=True, text=True, timeout=60)
        self.assertIn("tagring id needs --address (IPv6 or IPv4 address", done.stderr)
        self.assertEqual(self.server.asked, [])

    def test_status_says_what_it_does_not_know_yet(self):
        status = {"origin": "https://tags.example.net", "ready": True, "because": [], "problems": [], "rings": {}, "looked": False, "retention": {"posts": 0, "octets_max": 10**10}}
        self.server.answers = {"/status": status}
        shown = self.run_it("status")
        self.assertIn("history    not counted yet", shown)
        self.assertNotIn("all is well", shown)
        self.assertIn("tagring doctor", shown)
        status["looked"], status["retention"]["counted_seconds_ago"] = True, 18
        shown = self.run_it("status")
        self.assertIn("history    0 posts 18 seconds ago, about 0 B; ", shown)
        status["retention"].update(posts=10**7, octets=3_600_000_000)
        self.assertIn("history    10000000 posts 18 seconds ago, about 3.6 GB; ", self.run_it("status"))
        self.assertIn("all is well", shown)

    def test_who_lets_a_whole_ending_in_is_told(self):
        self.server.answers = {"/instances/permit": {"host": "com", "publishes": True, "receives": True, "added": False, "suffix": True}}
        self.assertIn("note: every server of this ending falls under it: com", self.run_it("instance", "allow", "com"))
        self.server.answers["/instances/permit"]["suffix"] = False
        self.assertNotIn("every server", self.run_it("instance", "allow", "com"))

    def test_a_node_that_is_looked_for_in_the_wrong_folder(self):
        self.config.write_text(self.config.read_text().replace("data = ", 'data = "/tmp/elsewhere" # '))
        for command in ("reload", "status"):
            shown = self.run_it(command, code=1)
            self.assertIn("no node answers at /tmp/elsewhere/control.sock", shown)
            self.assertIn("node.data was changed in that file", shown)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    failed = len(program.result.failures) + len(program.result.errors)
    print(f"{program.result.testsRun - failed} passed, {failed} failed", flush=True)

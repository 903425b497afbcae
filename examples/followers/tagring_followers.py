"""FEP-8fcf in Python, by the C interface of libtagring-followers (followers/tagring_followers.h).

    library = Followers("/usr/local/lib/libtagring-followers.so")
    value = library.write_header(actor + "/followers", actor + "/followers_synchronization", library.digest(ids))
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint8, c_void_p

HEADER_SIZE = 2049
ACTIONS = ["remove", "accept", "undo"]
IsOwnActor = ctypes.CFUNCTYPE(c_int, c_char_p, c_void_p)


class Digest(ctypes.Structure):
    _fields_ = [("bytes", c_uint8 * 32)]

    def hex(self):
        return bytes(self.bytes).hex()

    @staticmethod
    def from_hex(digits):
        return Digest((c_uint8 * 32)(*bytes.fromhex(digits)))


class Header(ctypes.Structure):
    _fields_ = [("collection_id", ctypes.c_char * HEADER_SIZE), ("url", ctypes.c_char * HEADER_SIZE), ("digest", Digest)]


class Delivery(ctypes.Structure):
    _fields_ = [("actor", c_char_p), ("followers", c_char_p), ("covers_header", c_int), ("require_coverage", c_int),
                ("origin", c_char_p)]


class Follow(ctypes.Structure):
    _fields_ = [("follower", c_char_p), ("since", c_int64)]


class Situation(ctypes.Structure):
    _fields_ = [("accepted", POINTER(Follow)), ("accepted_count", c_size_t), ("pending", POINTER(c_char_p)), ("pending_count", c_size_t),
                ("listed", POINTER(c_char_p)), ("listed_count", c_size_t), ("list_is_complete", c_int), ("digest", Digest),
                ("origin", c_char_p), ("now", c_int64), ("grace", c_int64), ("undo_max", c_size_t), ("is_own_actor", IsOwnActor),
                ("context", c_void_p)]


class Ignored(Exception):
    """A header that is not acted on; the text says why. The delivery is none the worse for it."""


def texts(ids):
    return (c_char_p * len(ids))(*(i.encode() for i in ids))


class Followers:
    def __init__(self, path):
        self.lib = lib = ctypes.CDLL(path)
        for name, result, arguments in [
                ("digest_toggle", None, [POINTER(Digest), c_char_p]),
                ("header_write", c_int, [c_char_p, c_char_p, POINTER(Digest), c_char_p]),
                ("header_read", c_char_p, [c_char_p, POINTER(Header)]),
                ("header_check", c_char_p, [POINTER(Header), POINTER(Delivery)]),
                ("plan_make", c_void_p, [POINTER(Situation)]),
                ("plan_free", None, [c_void_p]),
                ("plan_count", c_size_t, [c_void_p, c_int]),
                ("plan_id", c_char_p, [c_void_p, c_int, c_size_t]),
                ("plan_doubt", c_char_p, [c_void_p]),
                ("plan_too_young", c_size_t, [c_void_p]),
                ("plan_undo_later", c_size_t, [c_void_p])]:
            function = getattr(lib, "tagring_" + name)
            function.restype, function.argtypes = result, arguments

    def digest(self, ids):
        digest = Digest()
        for follower in set(ids):
            self.lib.tagring_digest_toggle(digest, follower.encode())
        return digest

    def write_header(self, collection_id, url, digest):
        """The value of the header, or None if there is none to send."""
        value = ctypes.create_string_buffer(HEADER_SIZE)
        written = self.lib.tagring_header_write(collection_id.encode(), url.encode(), digest, value)
        return value.value.decode() if written else None

    def read_header(self, value):
        header = Header()
        why = self.lib.tagring_header_read(value.encode(), header)
        if why:
            raise Ignored(why.decode())
        return header

    def check_header(self, header, actor, followers, covers_header, origin, require_coverage=True):
        delivery = Delivery(actor.encode(), (followers or "").encode(), covers_header, require_coverage, origin.encode())
        why = self.lib.tagring_header_check(header, delivery)
        if why:
            raise Ignored(why.decode())

    def plan(self, accepted, pending, listed, digest, origin, now, grace=600_000, undo_max=100, is_own_actor=None):
        """{"remove", "accept", "undo", "doubt", "too_young", "undo_later"}. accepted: {id: when, in milliseconds since 1970};
        listed: None if not all of the list could be read."""
        follows = (Follow * len(accepted))(*(Follow(follower.encode(), since) for follower, since in accepted.items()))
        asked = IsOwnActor(lambda follower, _: is_own_actor(follower.decode())) if is_own_actor else IsOwnActor()
        plan = self.lib.tagring_plan_make(Situation(
            follows, len(accepted), texts(pending), len(pending), texts(listed or []), len(listed or []), listed is not None, digest,
            origin.encode(), now, grace, undo_max, asked, None))
        if not plan:
            raise ValueError(f"{origin} is no origin")
        try:
            lib = self.lib
            found = {name: [lib.tagring_plan_id(plan, action, i).decode() for i in range(lib.tagring_plan_count(plan, action))]
                     for action, name in enumerate(ACTIONS)}
            doubt = lib.tagring_plan_doubt(plan)
            return found | {"doubt": doubt and doubt.decode(), "too_young": lib.tagring_plan_too_young(plan),
                            "undo_later": lib.tagring_plan_undo_later(plan)}
        finally:
            lib.tagring_plan_free(plan)

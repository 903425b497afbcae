/* FEP-8fcf for programs in other languages (docs/followers.md): the digest of followers, the header, and what
 * to do about a list that differs. A C header: C11 and C++ read it, and what loads shared libraries.
 *
 * Texts are UTF-8 and end with a zero. Nothing here waits, reads a clock, or keeps what it is given. No two
 * threads may use one object at a time. No pointer may be null but where it is said, and that of an array of
 * no elements. Running out of memory ends the program. */
#ifndef TAGRING_FOLLOWERS_H
#define TAGRING_FOLLOWERS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TAGRING_API __attribute__((visibility("default")))
#else
#define TAGRING_API
#endif

#ifdef __cplusplus
#define TAGRING_NOEXCEPT noexcept
extern "C" {
#else
#define TAGRING_NOEXCEPT
#endif

/* --- the digest --------------------------------------------------------------------------------------------
 */

/* Of a set of ids. All zeros: of nobody. */
typedef struct tagring_digest {
  uint8_t bytes[32];
} tagring_digest;

/* Adds an id that was not in the set, or takes away one that was. */
TAGRING_API void tagring_digest_toggle(tagring_digest* digest, const char* id) TAGRING_NOEXCEPT;
/* 64 hexadecimal digits, in lower case. */
TAGRING_API void tagring_digest_hex(const tagring_digest* digest, char hex[65]) TAGRING_NOEXCEPT;

/* --- the header --------------------------------------------------------------------------------------------
 */

#define TAGRING_HEADER_SIZE 2049 /* of the longest value, and of its parts, with the zero */

typedef struct tagring_header {
  char collection_id[TAGRING_HEADER_SIZE]; /* the sender's whole followers collection */
  char url[TAGRING_HEADER_SIZE];           /* of the partial collection for the receiver */
  tagring_digest digest;
} tagring_header;

/* The value of Collection-Synchronization. 0 if there is none to send: it would be too long, or a URL has a
 * character that does not fit between quotes. */
TAGRING_API int tagring_header_write(const char* collection_id, const char* url, const tagring_digest* digest,
                                     char value[TAGRING_HEADER_SIZE]) TAGRING_NOEXCEPT;
/* Null if it was read, else why not: "too_long", "malformed", "duplicate_parameter", "missing_parameter",
 * "bad_digest". Join repeated header lines with ", " before. */
TAGRING_API const char* tagring_header_read(const char* value, tagring_header* header) TAGRING_NOEXCEPT;

typedef struct tagring_delivery {
  const char* actor;     /* owner of the key that signed; not who the body says it is from */
  const char* followers; /* id of that actor's followers collection; NULL if its document has none */
  int covers_header;     /* the signature covers the header */
  int require_coverage;  /* 0: it need not (see docs/followers.md) */
  const char* origin;    /* the receiver: "https://example.org" */
} tagring_delivery;

/* Null if the digest is to be compared, and the list fetched if it differs; else why not: "not_signed",
 * "other_collection", "other_server", "own_server", or "bad_origin" for an origin that is none. */
TAGRING_API const char* tagring_header_check(const tagring_header* header,
                                             const tagring_delivery* delivery) TAGRING_NOEXCEPT;

/* --- the plan ----------------------------------------------------------------------------------------------
 */

typedef struct tagring_follow {
  const char* follower; /* id of an actor of the receiver */
  int64_t since;        /* when it was accepted: milliseconds since 1970, as `now` */
} tagring_follow;

typedef struct tagring_situation {
  const tagring_follow* accepted; /* who follows the sender, as the receiver knows it */
  size_t accepted_count;
  const char* const* pending; /* who asked to, and was not answered yet */
  size_t pending_count;
  const char* const* listed; /* the list, in its order and with its repetitions */
  size_t listed_count;
  int list_is_complete;  /* 0: not all of it could be read; then nothing is done */
  tagring_digest digest; /* of the header */
  const char* origin;    /* the receiver: "https://example.org" */
  int64_t now;
  int64_t grace;   /* milliseconds; a younger follow is not removed */
  size_t undo_max; /* of one plan */
  /* Not 0 if an id under `origin` is that of an actor, in its one spelling. Null: all are. */
  int (*is_own_actor)(const char* id, void* context);
  void* context; /* as it gets it, null too */
} tagring_situation;

typedef enum tagring_action {
  TAGRING_REMOVE = 0, /* accepted, and not in the list: forget the follow, send nothing */
  TAGRING_ACCEPT = 1, /* pending, and in the list: as if the Accept had come */
  TAGRING_UNDO = 2    /* unknown, and in the list: send an Undo of a Follow to the sender */
} tagring_action;

/* The world may have changed while the list was on its way: look each id up again before acting on it. */
typedef struct tagring_plan tagring_plan;

/* Null if `origin` is none. To be freed; null, too, may be. */
TAGRING_API tagring_plan* tagring_plan_make(const tagring_situation* situation) TAGRING_NOEXCEPT;
TAGRING_API void tagring_plan_free(tagring_plan* plan) TAGRING_NOEXCEPT;
TAGRING_API size_t tagring_plan_count(const tagring_plan* plan, tagring_action action) TAGRING_NOEXCEPT;
/* In ascending order. Null beyond the last one. As long as the plan lives. */
TAGRING_API const char* tagring_plan_id(const tagring_plan* plan, tagring_action action,
                                        size_t index) TAGRING_NOEXCEPT;
/* Why nothing is removed: "incomplete", "repeated", "foreign", "other_digest"; else null. */
TAGRING_API const char* tagring_plan_doubt(const tagring_plan* plan) TAGRING_NOEXCEPT;
TAGRING_API size_t tagring_plan_too_young(const tagring_plan* plan) TAGRING_NOEXCEPT; /* kept for the grace */
TAGRING_API size_t tagring_plan_undo_later(const tagring_plan* plan) TAGRING_NOEXCEPT; /* over undo_max */

#ifdef __cplusplus
}
#endif

#endif

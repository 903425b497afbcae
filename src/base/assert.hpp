// Assertions for programming errors. They stay on in release builds: a node that is wrong about its own
// state must stop, not relay. Never reachable by input from the network, a file or the database; those
// are checked with Result (base/result.hpp).
#pragma once

#include <cstdio>
#include <cstdlib>

#define TR_ASSERT(condition)                                                                      \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE_NAME__, __LINE__, #condition); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (false)

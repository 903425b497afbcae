# Flags that hold for every target, and the build options.
option(TAGRING_TESTS "build the tests" ON)
option(TAGRING_BENCH "build the benchmarks" OFF)
option(TAGRING_FUZZ "build the fuzz targets (libFuzzer)" OFF)
set(TAGRING_SANITIZERS "" CACHE STRING "value for -fsanitize=, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The compiler allocates much, and takes a fifth less time with another allocator.
find_library(TAGRING_COMPILER_ALLOCATOR NAMES libmimalloc.so.2)
if(TAGRING_COMPILER_ALLOCATOR)
  set(CMAKE_CXX_COMPILER_LAUNCHER env LD_PRELOAD=${TAGRING_COMPILER_ALLOCATOR})
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # Clones in different places share what they compile. Precompiled headers are known by their digest (precompile), not by
  # where they are.
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)
# What is from the network is hostile: also the program that ships ends rather than read past the end of a container.
add_compile_definitions(_GLIBCXX_ASSERTIONS BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY)
add_link_options(-fuse-ld=lld)
if(TAGRING_SANITIZERS)
  add_compile_options(-fsanitize=${TAGRING_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TAGRING_SANITIZERS})
endif()
if(TAGRING_SANITIZERS MATCHES address)
  # Checks as calls: the compiler takes a fifth less time, and programs that mostly allocate hardly more.
  add_compile_options("SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
endif()
if(TAGRING_SANITIZERS MATCHES undefined)
  # A quarter of the compiler's time went into UBSan's checks of code that is not ours. ccache knows nothing of the file, so
  # its hash is made part of the command; and clones in different places share what they compile.
  set(list ${CMAKE_SOURCE_DIR}/cmake/ubsan.list)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(SHA256 ${list} hash)
  file(RELATIVE_PATH list ${CMAKE_BINARY_DIR} ${list})
  add_compile_options(-fsanitize-ignorelist=${list})
  add_compile_definitions(TAGRING_UBSAN_LIST=${hash})
endif()

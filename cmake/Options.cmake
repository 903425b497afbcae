# Flags that hold for every target, and the build options.
option(TAGRING_TESTS "build the tests" ON)
option(TAGRING_BENCH "build the benchmarks" OFF)
option(TAGRING_FUZZ "build the fuzz targets (libFuzzer)" OFF)
set(TAGRING_SANITIZERS "" CACHE STRING "value for -fsanitize=, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  # Clones in different places share what they compile. Precompiled headers are known by their digest (precompile), not by
  # where they are.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY)
add_link_options(-fuse-ld=lld)
if(TAGRING_SANITIZERS)
  add_compile_options(-fsanitize=${TAGRING_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TAGRING_SANITIZERS})
endif()

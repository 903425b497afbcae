# What nearly every source includes of other libraries, parsed once for all modules and once more, with GoogleTest, for
# the tests. Sources still include what they use: `make lint` reads them without this.
set(PRECOMPILED_HEADERS
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <deque> <expected> <functional> <map> <memory> <optional> <set>
  <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp>
  <boost/asio/detached.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp> <boost/asio/this_coro.hpp>
  <boost/asio/use_awaitable.hpp> <boost/json.hpp> <boost/url/url.hpp> <fmt/format.h>)

function(tagring_precompile name)
  cmake_parse_arguments(arg "" "" "LINK;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE Boost::json Boost::url fmt::fmt Threads::Threads ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS} ${arg_HEADERS})
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/precompile)
  set_property(TARGET ${name} APPEND PROPERTY CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR} ${CMAKE_CXX_COMPILER_LAUNCHER})
  # With a time in it no compiler cache would know it again.
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  add_custom_target(${name}_there DEPENDS ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch)
endfunction()

# As target_precompile_headers(… REUSE_FROM …), which names the file by its place in the file system: a compiler cache takes that for
# a part of what is compiled.
function(tagring_reuse target name)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  set(header CMakeFiles/${name}.dir/cmake_pch.hxx.pch)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${header}")
  # The sources that a unity build makes are not among those below.
  add_dependencies(${target} ${name}_there)
  # When the target has all of its sources: some come later.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL tagring_wait_for ${target} ${CMAKE_BINARY_DIR}/${header})")
endfunction()

function(tagring_wait_for target header)
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY OBJECT_DEPENDS ${header})
endfunction()

tagring_precompile(precompiled)
if(TAGRING_TESTS)
  find_package(GTest REQUIRED)
  tagring_precompile(precompiled_test LINK GTest::gtest GTest::gmock HEADERS <gmock/gmock.h> <gtest/gtest.h>)
  target_compile_options(precompiled_test PRIVATE -O0 -g0)  # as the tests
endif()

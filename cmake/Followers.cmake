# src/followers for other programs: one static library with what it needs of base, http and crypto, its headers, and a
# CMake package; and the same with a C interface only, as a shared library, for other languages.
# `cmake --install build/release --component followers --prefix PREFIX` installs it;
# find_package(tagring-followers) finds it there.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

file(GLOB followers_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/followers/*.h ${CMAKE_SOURCE_DIR}/src/followers/*.hpp)
# Of these some sources are taken, which so have an object each.
set_target_properties(base http crypto PROPERTIES UNITY_BUILD OFF)
add_library(tagring-followers STATIC
  $<TARGET_OBJECTS:followers>
  "$<FILTER:$<TARGET_OBJECTS:base>,INCLUDE,/(bytes|json|printable)[.]cpp>"
  "$<FILTER:$<TARGET_OBJECTS:http>,INCLUDE,/url[.]cpp>"
  "$<FILTER:$<TARGET_OBJECTS:crypto>,INCLUDE,/hash[.]cpp>")
add_library(tagring::followers ALIAS tagring-followers)
target_sources(tagring-followers PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${followers_headers})
target_compile_features(tagring-followers PUBLIC cxx_std_23)
target_link_libraries(tagring-followers PUBLIC Boost::json Boost::url fmt::fmt OpenSSL::Crypto)
set_target_properties(tagring-followers PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME followers)

file(GLOB followers_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/followers/*.cpp)
add_library(tagring-followers-shared SHARED ${followers_sources}
  ${CMAKE_SOURCE_DIR}/src/base/bytes.cpp ${CMAKE_SOURCE_DIR}/src/base/json.cpp ${CMAKE_SOURCE_DIR}/src/base/printable.cpp
  ${CMAKE_SOURCE_DIR}/src/http/url.cpp
  ${CMAKE_SOURCE_DIR}/src/crypto/hash.cpp)
target_include_directories(tagring-followers-shared PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(tagring-followers-shared PRIVATE Boost::json Boost::url fmt::fmt OpenSSL::Crypto)
set_target_properties(tagring-followers-shared PROPERTIES
  OUTPUT_NAME tagring-followers CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/tagring-followers)
# The headers include each other as "followers/…", so that is below a folder of ours.
install(TARGETS tagring-followers EXPORT tagring-followers
  ARCHIVE COMPONENT followers
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tagring COMPONENT followers)
install(TARGETS tagring-followers-shared LIBRARY COMPONENT followers NAMELINK_COMPONENT followers)
install(EXPORT tagring-followers NAMESPACE tagring:: FILE tagring-followers-targets.cmake
  DESTINATION ${package_directory} COMPONENT followers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tagring-followers-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/tagring-followers-config.cmake
  ${CMAKE_BINARY_DIR}/tagring-followers-config-version.cmake
  DESTINATION ${package_directory} COMPONENT followers)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/docs/followers.md
  ${CMAKE_SOURCE_DIR}/docs/vectors/followers.json ${CMAKE_SOURCE_DIR}/examples/followers/tagring_followers.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tagring-followers COMPONENT followers)

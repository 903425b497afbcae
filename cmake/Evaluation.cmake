# The tables of data/evaluation as text in the binary.
set(EVALUATION_DATA ${CMAKE_BINARY_DIR}/evaluation_data.cpp)
foreach(table nodes spectrum outages stream bursts)
  string(TOUPPER ${table} name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/evaluation/${table}.tsv)
  file(READ ${CMAKE_SOURCE_DIR}/data/evaluation/${table}.tsv EVALUATION_${name})
endforeach()
file(CONFIGURE OUTPUT ${EVALUATION_DATA} CONTENT [[
#include "evaluation/events.hpp"
#include "evaluation/network.hpp"

namespace tagring::evaluation {
std::string_view built_in_nodes() {
  return R"tsv(@EVALUATION_NODES@)tsv";
}
std::string_view built_in_spectrum() {
  return R"tsv(@EVALUATION_SPECTRUM@)tsv";
}
std::string_view built_in_outages() {
  return R"tsv(@EVALUATION_OUTAGES@)tsv";
}
std::string_view built_in_stream() {
  return R"tsv(@EVALUATION_STREAM@)tsv";
}
std::string_view built_in_bursts() {
  return R"tsv(@EVALUATION_BURSTS@)tsv";
}
}  // namespace tagring::evaluation
]] @ONLY)
target_sources(evaluation PRIVATE ${EVALUATION_DATA})
# Longer than a compiler must take, but clang takes it.
set_source_files_properties(${EVALUATION_DATA} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)

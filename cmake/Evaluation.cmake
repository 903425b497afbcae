# The tables of data/evaluation as text in the binary.
set(EVALUATION_DATA ${CMAKE_BINARY_DIR}/evaluation_data.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/data/evaluation/nodes.tsv ${CMAKE_SOURCE_DIR}/data/evaluation/spectrum.tsv)
file(READ ${CMAKE_SOURCE_DIR}/data/evaluation/nodes.tsv EVALUATION_NODES)
file(READ ${CMAKE_SOURCE_DIR}/data/evaluation/spectrum.tsv EVALUATION_SPECTRUM)
file(CONFIGURE OUTPUT ${EVALUATION_DATA} CONTENT [[
#include "evaluation/network.hpp"

namespace tagring::evaluation {
std::string_view built_in_nodes() {
  return R"tsv(@EVALUATION_NODES@)tsv";
}
std::string_view built_in_spectrum() {
  return R"tsv(@EVALUATION_SPECTRUM@)tsv";
}
}  // namespace tagring::evaluation
]] @ONLY)
target_sources(evaluation PRIVATE ${EVALUATION_DATA})

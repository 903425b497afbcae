// All that a node has, from one database into another, of either kind.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "sql/connection.hpp"

namespace tagring::db {

struct CopyStep {
  enum class Doing : std::uint8_t {
    kCopies,
    kCompares,
    kFinishes,  // for a while, without further word: the target has to learn what is in it
  };
  Doing doing;
  std::string_view table;  // empty: all of them
  std::uint64_t rows;      // of all tables, so far
  std::uint64_t of;
};
using CopyWatch = std::function<void(const CopyStep&)>;

struct Copied {
  std::uint64_t tables = 0;
  std::uint64_t rows = 0;
  std::uint64_t resumed = 0;  // rows that were there from a copy that was not finished
};

// Rows go over in the order of their keys, some thousand in a transaction, so that whoever is killed goes on
// after the last that is there. At the end each table is compared, by the sum of the hashes of its rows; one
// that differs, as the source has changed since a copy that was not finished, is copied anew. Until all is
// done no node takes the target.
//
// kConflict if the target has tables, and not from such a copy; kInvalid if the source is not of this
// version; kCorrupt if a table still differs. The source is only read.
Result<Copied> copy_database(sql::Connection from, sql::Connection to, const CopyWatch& watch);

}  // namespace tagring::db

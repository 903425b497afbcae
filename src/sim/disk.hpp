// A disk in memory that loses, at a crash, what a real one may lose: an SQLite VFS.
//
// What was synced stays. Of what was written since, a crash keeps nothing, everything, a prefix, or any
// subset of its sectors, as drawn. A file that was never synced may vanish, a deleted one may come back.
// After a crash every open file is dead: its owner can only close it.
//
// Faults can be injected: writes and syncs that fail (after a failed sync the data may be gone for good
// although it can still be read, as on Linux), a full disk, a crash in the middle of a given operation.
//
// Not thread-safe, and deterministic: time and randomness are the world's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/rng.hpp"
#include "base/time.hpp"

namespace tagring::sim {

class Disk {
 public:
  // `clock` must outlive it. Registers itself with SQLite.
  Disk(Rng rng, const Clock& clock);
  // Every file must be closed.
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // For sql::DatabaseOptions::vfs.
  [[nodiscard]] const std::string& vfs() const;

  // The power goes. Files that are open stay dead; the disk can be used again at once.
  void crash();
  // Crashes by itself during the `operations`-th write, truncation, sync or deletion from now; 0: not.
  void crash_after(std::uint64_t operations);
  // A crash of crash_after() has happened since the last call of it.
  [[nodiscard]] bool crashed() const;
  // How many writes, truncations, syncs and deletions there were.
  [[nodiscard]] std::uint64_t operations() const;

  // The `operations`-th write, truncation or sync from now fails, and no other; 0: none.
  void fail_after(std::uint64_t operations);
  // A failure of fail_after() has happened since the last call of it.
  [[nodiscard]] bool failed() const;
  // Each write and each sync fails with that probability.
  void set_failures(double writes, double syncs);
  // Bytes of all files together; writes beyond fail as on a full disk.
  void set_capacity(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t size() const;

  // What is on it for certain, by path; and a disk with just that in its place. Nothing may be open then.
  using Image = std::map<std::string, std::string, std::less<>>;
  [[nodiscard]] Image image() const;
  void restore(const Image& image);

  // SQLite's side of it, in disk.cpp.
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tagring::sim

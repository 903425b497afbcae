#include "sim/disk.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <sqlite3.h>
#include <string_view>
#include <vector>

#include "base/assert.hpp"

namespace tagring::sim {
namespace {

constexpr std::size_t kSectorSize = 512;
constexpr std::int64_t kUnixEpochAsJulianMs = 210'866'760'000'000;

// A change since the last sync.
struct Change {
  std::size_t offset = 0;
  std::string data;
  bool truncates = false;  // to `offset`
};

void apply_change(std::string& content, const Change& change) {
  if (change.truncates) {
    content.resize(std::min(content.size(), change.offset));
    return;
  }
  content.resize(std::max(content.size(), change.offset + change.data.size()));
  content.replace(change.offset, change.data.size(), change.data);
}

struct File {
  std::string content;           // what a reader sees
  std::string durable;           // what the last sync made sure of
  std::vector<Change> unsynced;  // in order, since then
  bool exists_durably = false;

  void change(Change change) {
    apply_change(content, change);
    unsynced.push_back(std::move(change));
  }
  void sync() {
    for (const Change& change : unsynced) apply_change(durable, change);
    unsynced.clear();
    exists_durably = true;
  }
};

// Splits writes where a disk may tear them.
std::vector<Change> sectors_of(const std::vector<Change>& changes) {
  std::vector<Change> sectors;
  for (const Change& change : changes) {
    if (change.truncates) sectors.push_back(change);
    for (std::size_t done = 0; done < change.data.size();) {
      const std::size_t offset = change.offset + done;
      const std::size_t size = std::min(kSectorSize - offset % kSectorSize, change.data.size() - done);
      sectors.push_back({offset, change.data.substr(done, size), false});
      done += size;
    }
  }
  return sectors;
}

// What is on the platter of a file's unsynced changes after the power went.
void lose_some(File& file, Rng& rng) {
  const std::vector<Change> sectors = sectors_of(file.unsynced);
  const std::uint64_t fate = rng.below(4);
  std::size_t prefix = 0;
  if (fate == 1) prefix = sectors.size();
  if (fate == 2) prefix = static_cast<std::size_t>(rng.below(sectors.size() + 1));
  const double kept = fate == 3 ? rng.uniform() : 0;
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    if (i < prefix || rng.chance(kept)) apply_change(file.durable, sectors[i]);
  }
  if (!sectors.empty() && (prefix > 0 || fate == 3)) file.exists_durably = true;
  file.unsynced.clear();
  file.content = file.durable;
}

}  // namespace

struct Disk::State {
  State(Rng random, const Clock& time) : rng(random), clock(time) {}

  Rng rng;
  const Clock& clock;
  std::string name;
  sqlite3_vfs vfs{};
  std::map<std::string, std::shared_ptr<File>, std::less<>> files;
  std::map<std::string, std::shared_ptr<File>, std::less<>> deleted;  // but not yet for certain
  std::uint64_t incarnation = 0;                                      // of what is open
  std::uint64_t operations = 0;
  std::uint64_t crash_at = 0;  // 0: never
  bool crashed = false;
  std::uint64_t fail_at = 0;  // 0: never
  bool failed = false;
  double write_failures = 0;
  double sync_failures = 0;
  std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();
  std::size_t open_files = 0;

  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t total = 0;
    for (const auto& [path, file] : files) total += file->content.size();
    return total;
  }
  void crash() {
    ++incarnation;
    for (auto& [path, file] : deleted) {
      if (!files.contains(path) && rng.chance(0.5)) files.emplace(path, file);
    }
    deleted.clear();
    for (auto& [path, file] : files) {
      // Handles that were open at the crash keep the old file; they must not see what is written from now on.
      file = std::make_shared<File>(*file);
      lose_some(*file, rng);
    }
    std::erase_if(files, [&](const auto& entry) { return !entry.second->exists_durably && rng.chance(0.5); });
  }
  // To be called before the operation's change.
  bool fails(double probability) {
    if (fail_at != 0 && operations + 1 == fail_at) {
      fail_at = 0;
      ++operations;
      return failed = true;
    }
    return probability > 0 && rng.chance(probability);
  }
  // To be called after the operation's change, so that the crash may keep part of it. False: the power is
  // gone.
  bool survive_operation() {
    if (++operations != crash_at) return true;
    crash_at = 0;
    crashed = true;
    crash();
    return false;
  }
};

namespace {

// What SQLite holds of an open file. It allocates the memory.
struct Handle : sqlite3_file {
  Disk::State* disk;
  std::shared_ptr<File> file;
  std::uint64_t incarnation;
  std::string delete_on_close;  // the path, or empty

  [[nodiscard]] bool is_dead() const { return incarnation != disk->incarnation; }
};

Handle& handle_of(sqlite3_file* file) { return *static_cast<Handle*>(file); }

int close_file(sqlite3_file* base) {
  Handle& handle = handle_of(base);
  if (!handle.delete_on_close.empty() && !handle.is_dead()) handle.disk->files.erase(handle.delete_on_close);
  --handle.disk->open_files;
  handle.~Handle();
  return SQLITE_OK;
}

int read_file(sqlite3_file* base, void* to, int size, sqlite3_int64 offset) {
  const Handle& handle = handle_of(base);
  if (handle.is_dead()) return SQLITE_IOERR_READ;
  const auto wanted = static_cast<std::size_t>(size);
  const std::string& content = handle.file->content;
  const std::size_t from = std::min(static_cast<std::size_t>(offset), content.size());
  const std::size_t available = std::min(wanted, content.size() - from);
  std::memcpy(to, content.data() + from, available);
  std::memset(static_cast<char*>(to) + available, 0, wanted - available);
  return available == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* base, const void* from, int size, sqlite3_int64 offset) {
  Handle& handle = handle_of(base);
  Disk::State& disk = *handle.disk;
  if (handle.is_dead()) return SQLITE_IOERR_WRITE;
  if (disk.fails(disk.write_failures)) return SQLITE_IOERR_WRITE;
  const std::uint64_t end = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(size);
  const std::uint64_t grows = end - std::min<std::uint64_t>(end, handle.file->content.size());
  if (grows > 0 && disk.capacity != std::numeric_limits<std::uint64_t>::max() &&
      disk.size() + grows > disk.capacity) {
    return SQLITE_FULL;
  }
  handle.file->change({static_cast<std::size_t>(offset),
                       std::string(static_cast<const char*>(from), static_cast<std::size_t>(size)), false});
  return disk.survive_operation() ? SQLITE_OK : SQLITE_IOERR_WRITE;
}

int truncate_file(sqlite3_file* base, sqlite3_int64 size) {
  Handle& handle = handle_of(base);
  if (handle.is_dead() || handle.disk->fails(0)) return SQLITE_IOERR_TRUNCATE;
  handle.file->change({static_cast<std::size_t>(size), {}, true});
  return handle.disk->survive_operation() ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* base, int) {
  Handle& handle = handle_of(base);
  Disk::State& disk = *handle.disk;
  if (handle.is_dead()) return SQLITE_IOERR_FSYNC;
  if (disk.fails(disk.sync_failures)) {
    // The kernel reports a failed write-back once, and then takes the pages for clean.
    std::erase_if(handle.file->unsynced, [&](const Change&) { return disk.rng.chance(0.5); });
    return SQLITE_IOERR_FSYNC;
  }
  if (!disk.survive_operation()) return SQLITE_IOERR_FSYNC;
  // As on Unix, the first sync of a new file is one of its directory too, and so of deletions there.
  if (!handle.file->exists_durably) disk.deleted.clear();
  handle.file->sync();
  return SQLITE_OK;
}

int size_of_file(sqlite3_file* base, sqlite3_int64* size) {
  const Handle& handle = handle_of(base);
  if (handle.is_dead()) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>(handle.file->content.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file* base, int) { return handle_of(base).is_dead() ? SQLITE_IOERR_LOCK : SQLITE_OK; }
int unlock_file(sqlite3_file*, int) { return SQLITE_OK; }
int check_reserved_lock(sqlite3_file*, int* locked) {
  *locked = 0;
  return SQLITE_OK;
}
int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return static_cast<int>(kSectorSize); }
int device_characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

// Version 1: no shared memory, which a locked WAL database does not need.
constexpr sqlite3_io_methods kMethods = {1,
                                         close_file,
                                         read_file,
                                         write_file,
                                         truncate_file,
                                         sync_file,
                                         size_of_file,
                                         lock_file,
                                         unlock_file,
                                         check_reserved_lock,
                                         control_file,
                                         sector_size,
                                         device_characteristics,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr};

Disk::State& disk_of(sqlite3_vfs* vfs) { return *static_cast<Disk::State*>(vfs->pAppData); }

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* base, int flags, int* out_flags) {
  Disk::State& disk = disk_of(vfs);
  base->pMethods = nullptr;
  std::string path = name != nullptr ? name : "temporary-" + std::to_string(disk.rng.next());
  auto place = disk.files.find(path);
  if (place == disk.files.end()) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    place = disk.files.emplace(path, std::make_shared<File>()).first;
  }
  auto* handle = new (base) Handle{{&kMethods}, &disk, place->second, disk.incarnation, {}};
  if ((flags & SQLITE_OPEN_DELETEONCLOSE) != 0) handle->delete_on_close = std::move(path);
  ++disk.open_files;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  Disk::State& disk = disk_of(vfs);
  const auto place = disk.files.find(std::string_view(name));
  if (place == disk.files.end()) return SQLITE_IOERR_DELETE_NOENT;
  if (sync_directory == 0 && place->second->exists_durably) disk.deleted[name] = place->second;
  disk.files.erase(place);
  return disk.survive_operation() ? SQLITE_OK : SQLITE_IOERR_DELETE;
}

int access_file(sqlite3_vfs* vfs, const char* name, int, int* result) {
  *result = disk_of(vfs).files.contains(std::string_view(name)) ? 1 : 0;
  return SQLITE_OK;
}

int full_pathname(sqlite3_vfs*, const char* name, int size, char* to) {
  sqlite3_snprintf(size, to, "%s", name);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* vfs, int size, char* to) {
  for (int i = 0; i < size; ++i) to[i] = static_cast<char>(disk_of(vfs).rng.next());
  return size;
}

int sleep_for(sqlite3_vfs*, int microseconds) { return microseconds; }

int current_time_int64(sqlite3_vfs* vfs, sqlite3_int64* now) {
  *now = kUnixEpochAsJulianMs + to_ms(disk_of(vfs).clock.wall_now());
  return SQLITE_OK;
}

int current_time(sqlite3_vfs* vfs, double* now) {
  sqlite3_int64 milliseconds = 0;
  current_time_int64(vfs, &milliseconds);
  *now = static_cast<double>(milliseconds) / 86'400'000.0;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

Disk::Disk(Rng rng, const Clock& clock) : state_(std::make_unique<State>(rng, clock)) {
  static std::atomic<std::uint64_t> count = 0;
  state_->name = "simulated-disk-" + std::to_string(++count);
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = sizeof(Handle);
  vfs.mxPathname = 512;
  vfs.zName = state_->name.c_str();
  vfs.pAppData = state_.get();
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_pathname;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep_for;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  vfs.xCurrentTimeInt64 = current_time_int64;
  TR_ASSERT(sqlite3_vfs_register(&vfs, /*makeDflt=*/0) == SQLITE_OK);
}

Disk::~Disk() {
  TR_ASSERT(state_->open_files == 0);
  sqlite3_vfs_unregister(&state_->vfs);
}

const std::string& Disk::vfs() const { return state_->name; }

void Disk::crash() { state_->crash(); }

void Disk::crash_after(std::uint64_t operations) {
  state_->crash_at = operations > 0 ? state_->operations + operations : 0;
  state_->crashed = false;
}

bool Disk::crashed() const { return state_->crashed; }
std::uint64_t Disk::operations() const { return state_->operations; }

void Disk::fail_after(std::uint64_t operations) {
  state_->fail_at = operations > 0 ? state_->operations + operations : 0;
  state_->failed = false;
}

bool Disk::failed() const { return state_->failed; }

void Disk::set_failures(double writes, double syncs) {
  state_->write_failures = writes;
  state_->sync_failures = syncs;
}

void Disk::set_capacity(std::uint64_t bytes) { state_->capacity = bytes; }
std::uint64_t Disk::size() const { return state_->size(); }

Disk::Image Disk::image() const {
  Image image;
  for (const auto& [path, file] : state_->files) {
    if (file->exists_durably) image.emplace(path, file->durable);
  }
  return image;
}

void Disk::restore(const Image& image) {
  TR_ASSERT(state_->open_files == 0);
  state_->files.clear();
  state_->deleted.clear();
  for (const auto& [path, content] : image)
    state_->files.emplace(path, std::make_shared<File>(File{content, content, {}, true}));
}

}  // namespace tagring::sim

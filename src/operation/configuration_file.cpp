#include "operation/configuration_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/file.hpp"
#include "sql/backup.hpp"

namespace tagring::operation {
namespace {

// What the package puts there.
bool is_placeholder(const std::filesystem::path& file) {
  constexpr std::string_view kBegin = "# tagring is not set up yet";
  std::ifstream stream(file);
  std::string begin(kBegin.size(), '\0');  // no more: it may be any file
  return stream.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kBegin;
}

std::unexpected<Error> is_there(const std::string& file) {
  return fail(ErrorCode::kInvalid, fmt::format("{} is there already; --force overwrites it", file));
}

bool write_all(int out, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(out, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(out) == 0;
}

// Those of what is there, which the administrator may have given the node in another way. What the package
// put there, or nobody yet, is for the node's own user where it has one.
void give_rights(int out, const std::filesystem::path& present) {
  struct stat is{};
  const bool is_there = ::stat(present.c_str(), &is) == 0;
  const bool is_first = !is_there || is_placeholder(present);
  const group* own = is_first && ::geteuid() == 0 ? ::getgrnam("tagring") : nullptr;
  // Who may not give it away has it.
  if (own != nullptr) {
    static_cast<void>(::fchown(out, 0, own->gr_gid));
  } else if (is_there) {
    static_cast<void>(::fchown(out, is.st_uid, is.st_gid));
  }
  if (is_there) static_cast<void>(::fchmod(out, is.st_mode & 07777U));
}

// For file systems and kernels that cannot be told to replace nothing. As those below it sets errno.
bool take_and_move(const std::string& fresh, const std::string& file) {
  const int taken = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, S_IRUSR);
  if (taken < 0) return false;
  ::close(taken);
  if (::rename(fresh.c_str(), file.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(file.c_str());
  errno = error;
  return false;
}

// EEXIST if the place is taken.
bool move_to_free(const std::string& fresh, const std::string& file) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0) return true;
  return errno != EEXIST && take_and_move(fresh, file);
}

// A file that is a mount of its own, as in containers, cannot be replaced, only written.
bool move_over(const std::string& fresh, const std::string& file, std::string_view text) {
  if (::rename(fresh.c_str(), file.c_str()) == 0) return true;
  if (errno != EBUSY) return false;
  const int out = ::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (out < 0) return false;
  const bool is_written = write_all(out, text);
  const int error = errno;
  ::close(out);
  errno = error;
  return is_written;
}

}  // namespace

Result<void> check_place(const std::string& name, bool may_replace) {
  const std::filesystem::path file = name;
  std::error_code error;
  std::filesystem::path folder = config::folder_of(file);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  // What is there may be the package's, which not everybody may read.
  const bool exists = std::filesystem::exists(file, error);
  if (::access(folder.c_str(), W_OK | X_OK) != 0 || (exists && ::access(file.c_str(), R_OK | W_OK) != 0))
    return fail(ErrorCode::kDenied, fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  if (exists && !may_replace && !is_placeholder(file)) return is_there(name);
  if (exists && !std::filesystem::is_regular_file(file, error))
    return fail(ErrorCode::kInvalid, fmt::format("{} is no file that could be replaced", name));
  return {};
}

Result<void> write_configuration(const std::string& name, std::string_view text, bool may_replace) {
  std::error_code error;
  // Not the link that may lead there.
  const std::filesystem::path file =
      std::filesystem::weakly_canonical(std::filesystem::absolute(name), error);
  if (error) return fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", name, error.message()));
  const auto cannot_write = [&name] {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  };
  std::filesystem::create_directories(file.parent_path(), error);
  const std::string fresh = file.string() + ".new";
  ::unlink(fresh.c_str());  // of one that was killed
  const int out = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, S_IRUSR | S_IWUSR | S_IRGRP);
  if (out < 0) return cannot_write();
  give_rights(out, file);
  Result<void> done;
  if (!write_all(out, text)) done = cannot_write();
  ::close(out);
  const bool replaces = may_replace || is_placeholder(file);
  if (done && !(replaces ? move_over(fresh, file, text) : move_to_free(fresh, file)))
    done = errno == EEXIST ? is_there(name) : cannot_write();
  ::unlink(fresh.c_str());
  if (done) done = sql::sync(file.parent_path());
  return done;
}

}  // namespace tagring::operation

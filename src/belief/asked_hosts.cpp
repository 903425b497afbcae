#include "belief/asked_hosts.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "http/url.hpp"

namespace tagring::belief {

bool AskedHosts::is_left_alone(const std::string& host) const {
  const auto record = records_.find(host);
  return record != records_.end() &&
         clock_.now() < std::max(record->second.until, record->second.silent_until);
}

bool AskedHosts::is_silent(const std::string& host) const {
  const auto record = records_.find(host);
  return record != records_.end() && clock_.now() < record->second.silent_until;
}

bool AskedHosts::is_known(const std::string& host) const {
  const auto record = records_.find(host);
  return record != records_.end() && clock_.now() < record->second.known_until;
}

bool AskedHosts::has_nothing(const std::string& host) const {
  const auto record = records_.find(host);
  return record != records_.end() && record->second.in_vain > 0;
}

AskedHosts::Record& AskedHosts::record(const std::string& host) {
  if (!records_.contains(host)) make_room(records_, kMax);
  return records_[host];
}

bool AskedHosts::was_gone(const std::string& url) const {
  const auto record = records_.find(host_of(url));
  if (record == records_.end()) return false;
  const Record& known = record->second;
  const auto gone = known.gone.find(crypto::sha256(url));
  const Duration remembered = clock_.now() < known.known_until ? kGoneFromKnown : kGone;
  return gone != known.gone.end() && clock_.now() - gone->second < remembered;
}

void AskedHosts::found(const std::string& host) {
  Record& known = record(host);
  known.until = {};
  known.known_until = clock_.now() + kKnown;
  known.in_vain = 0;
}

void AskedHosts::found_post(const std::string& host) {
  found(host);
  Record& known = record(host);
  known.posts = std::min(known.posts + 1, kPostsMax);
}

bool AskedHosts::make_up_for_gone(const std::string& host) {
  const auto record = records_.find(host);
  if (record == records_.end() || record->second.posts == 0) return false;
  --record->second.posts;
  return true;
}

void AskedHosts::gone(const std::string& url) {
  Record& known = record(host_of(url));
  const crypto::Hash256 place = crypto::sha256(url);
  if (!known.gone.contains(place)) make_room(known.gone, kGoneMax);
  known.gone[place] = clock_.now();
}

void AskedHosts::found_nothing(const std::string& url) {
  gone(url);
  Record& known = record(host_of(url));
  if (clock_.now() < known.known_until) return;
  known.until = clock_.now() + kPause * (1U << std::min(known.in_vain++, kDoublingsMax));
}

void AskedHosts::silent(const std::string& host) { record(host).silent_until = clock_.now() + kSilentFor; }

void AskedHosts::answered(const std::string& host) {
  const auto known = records_.find(host);
  if (known != records_.end()) known->second.silent_until = {};
}

}  // namespace tagring::belief

// What this node keeps as a FASP (docs/fasp.md): the servers that it is registered with, what they have told
// of and is not looked at yet, and what is to be looked at again.
//
// A call that writes has committed when it completes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::fasp {

// One for each host.
struct FaspServer {
  std::string host;
  std::string id;              // that this node gave to it
  std::string base_url;        // of its FASP interface, without a final slash
  std::string fasp_id;         // that it gave to this node
  std::string own_key;         // this node's key towards it, PEM
  std::string server_key;      // its own, 32 bytes
  std::string completion_url;  // where its administrator goes on
  WallTime since;
  bool shares = false;               // has activated data_sharing
  bool hashtags = false;             // has activated hashtag_subscription
  std::string content_subscription;  // ids that it gave to this node's subscriptions; empty: none yet
  std::string account_subscription;

  friend bool operator==(const FaspServer&, const FaspServer&) = default;
};

// An object that a server has told of.
struct FaspNews {
  std::uint64_t seq = 0;
  std::string server = {};  // host
  std::string uri = {};
  bool account = false;  // else a post
  bool gone = false;     // the server says that it was deleted
  WallTime since = {};

  friend bool operator==(const FaspNews&, const FaspNews&) = default;
};

// A request for old posts. One for each server; the next one takes its place.
struct FaspBackfill {
  std::string server;  // host
  std::string id;      // that the server gave to it
  std::uint64_t wanted = 0;
  std::uint64_t received = 0;
  bool more = true;  // as far as the server has said
  WallTime since;
  std::uint64_t asked = 0;  // how many had come when the server was asked last

  friend bool operator==(const FaspBackfill&, const FaspBackfill&) = default;
};

// A post that came to be published because a server told of it.
struct FaspPost {
  std::string uri;
  WallTime checked;  // was there, and allowed
  WallTime due;      // when it is looked at again

  friend bool operator==(const FaspPost&, const FaspPost&) = default;
};

class FaspStore {
 public:
  virtual ~FaspStore() = default;

  virtual Task<Result<void>> save_server(FaspServer server) = 0;  // by host
  // With what it told of, and its backfill. What was published stays.
  virtual Task<Result<void>> drop_server(std::string host) = 0;
  virtual Task<Result<std::vector<FaspServer>>> servers() = 0;

  // Adds what a server has told of, and saves the backfill that it belongs to, if there is one. What the same
  // server said of an object before and was not looked at is replaced. Returns it with its seq.
  virtual Task<Result<std::vector<FaspNews>>> add_news(std::vector<FaspNews> news,
                                                       std::optional<FaspBackfill> backfill) = 0;
  // With a greater seq, oldest first.
  virtual Task<Result<std::vector<FaspNews>>> news(std::uint64_t after, std::size_t limit) = 0;
  virtual Task<Result<void>> drop_news(std::uint64_t seq) = 0;

  virtual Task<Result<void>> save_backfill(FaspBackfill backfill) = 0;  // by server
  virtual Task<Result<std::vector<FaspBackfill>>> backfills() = 0;

  virtual Task<Result<void>> save_post(FaspPost post) = 0;  // by URI
  virtual Task<Result<void>> drop_post(std::string uri) = 0;
  // Due at `now` or before, the longest due first.
  virtual Task<Result<std::vector<FaspPost>>> due_posts(WallTime now, std::size_t limit) = 0;
  // Nothing if it did not come this way.
  virtual Task<Result<std::optional<FaspPost>>> find_post(std::string uri) = 0;
};

}  // namespace tagring::fasp

// The body of a request, which takes no more memory than it has been given so far, however long it says that
// it will be. Internal to server/, and to fuzz/.
#pragma once

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tagring::server {

// A Body, as Beast calls it. Where it has no room for what has come, reading ends with
// http::error::need_buffer, and goes on when it has been given some.
struct GrowingBody {
  struct value_type {  // NOLINT: the name Beast looks for
    std::string text;
    std::size_t room = 0;  // bytes that `text` may have, and takes

    // How many these may be next: `first` at first, then twice as many as before, and `most` at most.
    [[nodiscard]] std::uint64_t next_room(std::uint64_t first, std::uint64_t most) const {
      return std::min(most, std::max<std::uint64_t>(first, 2 * room));
    }
    // reserve() of what is there already would take twice as much as there was, which may be more.
    void give_room(std::size_t size) {
      std::string larger;
      larger.reserve(size);
      larger += text;
      text.swap(larger);
      room = size;
    }
  };

  class reader {  // NOLINT: the same
   public:
    template <bool kIsRequest, class Fields>
    reader(boost::beast::http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      std::size_t taken = 0;
      for (const boost::asio::const_buffer part : boost::beast::buffers_range_ref(buffers)) {
        const std::size_t size = std::min(part.size(), body_.room - body_.text.size());
        body_.text.append(static_cast<const char*>(part.data()), size);
        taken += size;
        if (size < part.size()) error = boost::beast::http::error::need_buffer;
      }
      return taken;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace tagring::server

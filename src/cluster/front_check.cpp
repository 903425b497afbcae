#include "cluster/front_check.hpp"

#include <fmt/format.h>

#include "federation/version.hpp"

namespace tagring::cluster {

using health::bad;
using health::Check;
using health::well;

Check judge(const SeenFront& front, const std::string& own) {
  const std::string name = "front " + front.place;
  if (front.is_there && front.version != federation::kVersion)
    return bad(name, fmt::format("is tagring {}, and this core {}", front.version, federation::kVersion),
               fmt::format("install the same version on both machines, and restart what is older "
                           "(systemctl restart tagring-front@{})",
                           front.place));
  if (!front.answer && front.is_there)
    return bad(
        name, fmt::format("is heard, and cannot be reached from here: {}", front.answer.error().message),
        fmt::format("let this machine connect to {}: until then the core sends without it", front.place));
  if (!front.answer)
    return bad(name,
               fmt::format("has been silent for {} s: {}", front.unheard_for / std::chrono::seconds(1),
                           front.answer.error().message),
               fmt::format("see on its machine why (systemctl status tagring-front@{}); one that is "
                           "stopped there takes its leave, one that is gone is forgotten after a day",
                           front.place));
  const std::string core = json::text_of(*front.answer, "core");
  if (core != own)
    return bad(name, fmt::format("looks for its core at {}, and this one is at {}", core, own),
               "see that database.postgres leads to the same database there as here, and that it can be "
               "reached from there");
  if (!json::get_flag(*front.answer, "core_answers"))
    return bad(name, fmt::format("runs, and cannot reach this core at {}", own),
               fmt::format("let its machine connect to {}: see the firewalls of both", own));
  if (json::get_flag(*front.answer, "certificate_late")) {
    const std::int64_t until = json::get_int(*front.answer, "certificate_until").value_or(0);
    return bad(name,
               fmt::format("shows a certificate that is good until {}",
                           to_rfc3339(WallTime(std::chrono::seconds(until)))),
               "see on its machine why there is no new one (listen.certificate): it takes one by itself, and "
               "says why not (event=certificate_refused)");
  }
  return well(name, fmt::format("tagring {}, reaches this core, and is reached from it", front.version));
}

Check no_front(const std::string& own) {
  return bad("fronts", fmt::format("none is there, though this is a core for some, at {}", own),
             "start one: tagring run --role front --inside ADDRESS:PORT, or systemctl enable --now "
             "tagring-front@ADDRESS:PORT; tagring doctor there says whether it reaches this core");
}

}  // namespace tagring::cluster

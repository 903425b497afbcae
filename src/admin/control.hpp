// What an administrator asks of a running node, over the control socket in its data directory or, with a
// token, over HTTPS (gate.hpp). The command line is made of these; each answers JSON. Which requests there
// are, the headers of the subjects say:
//
//   node_control.hpp          status, leaving, logins
//   query_control.hpp         the rings, and the history and owners of hashtags
//   follow_control.hpp        what this node is subscribed to, and who follows it
//   instance_control.hpp      who uses this node as a relay
//   replay_control.hpp        histories on their way into instances
//   moderation_control.hpp    blocks and reports
//   fasp_control.hpp          this node as a FASP
//   audit_control.hpp         audits and take-downs
//   overview.hpp              what is kept, and the settings
//   queue_control.hpp         what waits to be sent
//
// Everything that changes something leaves a line in the log, event "admin".
#pragma once

#include <initializer_list>

#include "admin/routes.hpp"
#include "base/http.hpp"
#include "base/log.hpp"

namespace tagring::admin {

class Control {
 public:
  Control(std::initializer_list<Subject*> subjects, Log& log);

  // kNotFound for what no subject answers.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Routes routes_;
  Log& log_;
};

}  // namespace tagring::admin

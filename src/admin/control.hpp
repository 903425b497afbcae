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
//   change_control.hpp        who asks, and who changed what
//
// Whose role is not enough gets kDenied. Everything else that is to change something is noted
// (administrators/changes.hpp), whether it succeeds or not; what may take long also when it begins.
#pragma once

#include <initializer_list>

#include "admin/routes.hpp"
#include "administrators/changes.hpp"
#include "http/message.hpp"

namespace tagring::admin {

class Control {
 public:
  Control(std::initializer_list<Subject*> subjects, administrators::Changes& changes);

  // kNotFound for what no subject answers.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request, administrators::Administrator who);

 private:
  Task<Reply> change(const Routes::Route* route, Request request, std::string path);

  Routes routes_;
  administrators::Changes& changes_;
};

}  // namespace tagring::admin

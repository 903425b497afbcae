// Answers that need not be sent again (RFC 9110, 13.1.2): feed readers and browsers ask for the same page
// over and over.
#pragma once

#include "http/message.hpp"

namespace tagring::node {

// Gives what `handler` answers to GET and HEAD an ETag, and answers 304 to who has it already. Weak, since
// the body may be sent compressed. Streams are passed on as they are.
HttpHandler revalidated(HttpHandler handler);

}  // namespace tagring::node

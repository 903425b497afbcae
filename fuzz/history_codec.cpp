// Every URI comes back as it was, whatever its author; and what stands in a damaged database brings nobody
// down. Text: author, newline, URI.
#include "db_history/history_codec.hpp"

#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  const std::string_view author = take_until(text, '\n');
  const db_history::SplitUri split = db_history::split_uri(text, author);
  TR_ASSERT(!split.form.empty() && split.form.size() <= 101);
  TR_ASSERT(db_history::join_uri(author, split.form, split.tail) == text);
  TR_ASSERT(db_history::author_prefix_size(author) <= author.size());
  // Any bytes as a stored UUID or form.
  TR_ASSERT(db_history::join_uri(author, text, db_history::Uuid{std::string(author)}).size() <=
            2 * author.size() + text.size() + author.size() + 4);
}

}  // namespace tagring::fuzzing

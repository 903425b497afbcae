#include "fediverse/blocklist.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "fediverse/domain.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::size_t kShownMax = 200;    // bytes of what was passed over
constexpr std::size_t kReasonMax = 1000;  // bytes
constexpr std::string_view kNoDomain = "no domain";
constexpr std::string_view kSeparators = ",;\t";

// Where a server shows letters of it only to friends, stars are in their places.
bool is_domain(std::string name) {
  std::ranges::replace(name, '*', 'a');
  return name.contains('.') && is_host_name(name);
}

void skip(Blocklist& list, std::string_view name, std::string_view why) {
  list.skipped.push_back(fmt::format("{}: {}", cut_utf8(domain_in(name), kShownMax), why));
}

// Adds an entry, or says why not.
void add(Blocklist& list, std::string_view name, std::string_view severity, std::string reason) {
  // A block covers what is below anyway.
  const std::string domain = domain_in(name.starts_with("*.") ? name.substr(2) : name);
  if (!is_domain(domain)) return skip(list, name, kNoDomain);
  if (domain.contains('*')) return skip(list, name, "the name is obfuscated");
  if (!severity.empty() && ascii_lower(severity) != "suspend")
    return skip(list, name, fmt::format("severity is {}", cut_utf8(severity, kShownMax)));
  list.domains.push_back({domain, std::string(cut_utf8(reason, kReasonMax))});
}

// Takes a line off the text, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Takes what is in quotes, the first of which is gone already: two of them are one. Nothing if it does not
// end.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string field;
  for (;;) {
    const std::size_t quote = text.find('"');
    if (quote == std::string_view::npos) return std::nullopt;
    field += text.substr(0, quote);
    text.remove_prefix(quote + 1);
    if (!text.starts_with('"')) return field;
    field.push_back('"');
    text.remove_prefix(1);
  }
}

// Takes a record of RFC 4180 off the text. Fields in quotes may have line ends in them.
Result<std::vector<std::string>> take_record(std::string_view& text, char separator) {
  const std::array<char, 3> stops = {separator, '\n', '\r'};
  std::vector<std::string> fields;
  for (;;) {
    std::string field;
    // Who writes a blank after the separator means the quote all the same: a line of a comment must not be
    // taken for a domain.
    const std::size_t quote = std::min(text.find_first_not_of(' '), text.size());
    if (text.substr(quote).starts_with('"')) {
      text.remove_prefix(quote + 1);
      std::optional<std::string> quoted = take_quoted(text);
      if (!quoted) return fail(ErrorCode::kInvalid, "a quote is not closed; the list may be cut off");
      field = *std::move(quoted);
    }
    const std::size_t end =
        std::min(text.find_first_of(std::string_view(stops.data(), stops.size())), text.size());
    field += text.substr(0, end);
    text.remove_prefix(end);
    fields.push_back(std::move(field));
    if (!text.starts_with(separator)) break;
    text.remove_prefix(1);
  }
  take_line(text);
  return fields;
}

// Where no header says otherwise, what follows a domain is its severity: a comment there is passed over by
// name, while a silence that is taken for a comment would be a suspension.
struct Columns {
  char separator = ',';
  std::size_t severity = 1;
  std::size_t comment = std::string::npos;
};

// The columns that the line names, if the first is the domain; what follows it separates them.
std::optional<Columns> read_header(std::string_view line) {
  const std::size_t separator = line.find_first_of(kSeparators);
  Columns columns{.separator = separator == std::string_view::npos ? ',' : line[separator],
                  .severity = std::string::npos};
  const Result<std::vector<std::string>> names = take_record(line, columns.separator);
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    std::string_view name = trim((*names)[i]);
    if (name.starts_with('#')) name = trim(name.substr(1));
    const std::string lower = ascii_lower(name);
    if (i == 0 && lower != "domain") return std::nullopt;
    if (lower == "severity") columns.severity = i;
    if (lower == "public_comment") columns.comment = i;
  }
  return names ? std::optional(columns) : std::nullopt;
}

Result<void> parse_lines(std::string_view text, Blocklist& list) {
  std::optional<Columns> header;
  bool first = true;  // until the header, or an entry; comments may stand above
  while (!text.empty()) {
    std::string_view rest = text;
    const std::string_view line = trim(take_line(rest));
    if (first) header = read_header(line);
    const bool is_header = first && header;
    const bool is_entry = !is_header && !line.empty() && !line.starts_with('#');
    first = first && !is_header && !is_entry;
    if (!is_entry) {
      text = rest;
      continue;
    }
    if (list.domains.size() + list.skipped.size() >= kBlocklistMax)
      return fail(ErrorCode::kTooLarge, fmt::format("more than {} entries", kBlocklistMax));
    const Columns columns = header.value_or(Columns());
    // A line of text, not of CSV, may have a comment beside the domain.
    const std::string_view beside = line.substr(0, std::min(line.find(" #"), line.find("\t#")));
    if (!header && beside.size() < line.size() &&
        beside.find_first_of(kSeparators) == std::string_view::npos) {
      add(list, beside, "", "");
      text = rest;
      continue;
    }
    TRY(const std::vector<std::string> fields, take_record(text, columns.separator));
    const auto field = [&](std::size_t i) { return i < fields.size() ? std::string(trim(fields[i])) : ""; };
    if (header && columns.severity != std::string::npos && columns.severity >= fields.size()) {
      skip(list, fields[0], "its severity is not there");
      continue;
    }
    add(list, fields[0], field(columns.severity), field(columns.comment));
  }
  return {};
}

Result<void> parse_items(std::string_view text, Blocklist& list) {
  TRY(const json::value items, json::parse(text));
  if (!items.is_array()) return fail(ErrorCode::kInvalid, "the JSON is no list");
  if (items.get_array().size() > kBlocklistMax)
    return fail(ErrorCode::kTooLarge, fmt::format("more than {} entries", kBlocklistMax));
  for (const json::value& item : items.get_array()) {
    if (item.is_string()) {
      add(list, item.get_string(), "", "");
    } else if (item.is_object()) {
      const json::object& o = item.get_object();
      const json::value* severity = json::find(o, "severity");
      if (severity != nullptr && !severity->is_string()) {
        skip(list, json::text_of(o, "domain"), "its severity is no text");
        continue;
      }
      const std::string comment = json::text_of(o, "comment");
      add(list, json::text_of(o, "domain"), json::text_of(o, "severity"),
          json::get_string(o, "public_comment").value_or(comment));
    }
  }
  return {};
}

}  // namespace

Result<Blocklist> parse_blocklist(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // as spreadsheets write it
  Blocklist list;
  if (trim(text).starts_with('[')) {
    TRY_VOID(parse_items(text, list));
  } else {
    TRY_VOID(parse_lines(text, list));
  }
  if (list.domains.empty() && list.skipped.empty())
    return fail(ErrorCode::kInvalid, "the list has no entries: CSV, a JSON list, or one domain a line");
  // Such as the page that says why there is no list now. It must not lift what the list had.
  const bool names_nothing =
      std::ranges::all_of(list.skipped, [](const std::string& why) { return why.ends_with(kNoDomain); });
  if (list.domains.empty() && names_nothing)
    return fail(ErrorCode::kInvalid, "that is no list: nothing in it is a domain");
  std::ranges::sort(list.domains, {}, &BlockedDomain::domain);
  const auto repeated = std::ranges::unique(list.domains, {}, &BlockedDomain::domain);
  list.domains.erase(repeated.begin(), repeated.end());
  return list;
}

}  // namespace tagring::fediverse

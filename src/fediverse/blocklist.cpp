#include "fediverse/blocklist.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/url.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::string_view kDomainLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-_";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Adds an entry, or says why not.
void add(Blocklist& list, std::string_view name, std::string_view severity, std::string reason) {
  const std::string domain = ascii_lower(trim(name));
  const auto skip = [&](std::string_view why) { list.skipped.push_back(fmt::format("{}: {}", domain, why)); };
  if (domain.find('*') != std::string::npos) return skip("the name is obfuscated");
  if (!severity.empty() && severity != "suspend") return skip(fmt::format("severity is {}", severity));
  // A URL may have more in its host, such as the comma of a quote that was left open.
  if (domain.find('.') == std::string::npos ||
      domain.find_first_not_of(kDomainLetters) != std::string::npos ||
      host_of("https://" + domain + "/") != domain) {
    return skip("no domain");
  }
  list.domains.push_back({domain, std::move(reason)});
}

// The fields of one line of CSV; quotes as in RFC 4180, but no line breaks in fields.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back().push_back('"');
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back().push_back(line[i]);
    }
  }
  return fields;
}

struct Columns {
  std::size_t severity = std::string::npos;
  std::size_t comment = std::string::npos;
};

Columns columns_of(const std::vector<std::string>& header) {
  Columns columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = ascii_lower(trim(header[i]));
    if (name == "#severity" || name == "severity") columns.severity = i;
    if (name == "#public_comment" || name == "public_comment") columns.comment = i;
  }
  return columns;
}

Result<void> parse_lines(std::string_view text, Blocklist& list) {
  Columns columns;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (list.domains.size() + list.skipped.size() >= kBlocklistMax)
      return fail(ErrorCode::kTooLarge, fmt::format("more than {} entries", kBlocklistMax));
    const std::vector<std::string> fields = fields_of(line);
    const std::string head = ascii_lower(trim(fields[0]));
    if (first && (head == "#domain" || head == "domain")) {
      columns = columns_of(fields);
    } else if (!head.starts_with('#')) {
      const auto field = [&](std::size_t i) { return i < fields.size() ? std::string(trim(fields[i])) : ""; };
      add(list, fields[0], field(columns.severity), field(columns.comment));
    }
    first = false;
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
      const std::string comment = json::get_string(o, "comment").value_or("");
      add(list, json::get_string(o, "domain").value_or(""), json::get_string(o, "severity").value_or(""),
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
  std::ranges::sort(list.domains, {}, &BlockedDomain::domain);
  const auto repeated = std::ranges::unique(list.domains, {}, &BlockedDomain::domain);
  list.domains.erase(repeated.begin(), repeated.end());
  return list;
}

std::string format_blocklist(const std::vector<BlockedDomain>& domains) {
  std::string text = "#domain,#severity,#reject_media,#reject_reports,#public_comment,#obfuscate\n";
  for (const BlockedDomain& blocked : domains) {
    std::string comment;
    for (const char c : blocked.reason) {
      if (c == '"') comment.push_back('"');
      comment.push_back(c == '\n' || c == '\r' ? ' ' : c);
    }
    text += fmt::format("{},suspend,false,false,\"{}\",false\n", blocked.domain, comment);
  }
  return text;
}

}  // namespace tagring::fediverse

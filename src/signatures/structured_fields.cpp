#include "signatures/structured_fields.hpp"

#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"

namespace tagring::signatures::sf {
namespace {

constexpr std::size_t kDigitsMax = 15;  // RFC 8941 §3.3.1
constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~:/";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}
  Result<Dictionary> dictionary();

 private:
  [[nodiscard]] bool at(char c) const { return rest_.starts_with(c); }
  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }
  // Takes characters while `belongs` says so.
  template <class Belongs>
  std::string_view take_while(Belongs belongs) {
    std::size_t size = 0;
    while (size < rest_.size() && belongs(rest_[size])) ++size;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  Result<std::string> key();
  Result<BareItem> bare_item();
  Result<BareItem> integer();
  Result<BareItem> string();
  Result<BareItem> bytes();
  Result<BareItem> boolean();
  Result<Parameters> parameters();
  Result<Item> item();
  Result<InnerList> inner_list();
  Result<Member> member();

  std::string_view rest_;
};

std::unexpected<Error> broken(const char* why) { return fail(ErrorCode::kInvalid, why); }

Result<std::string> Parser::key() {
  if (rest_.empty() || !(is_lower(rest_.front()) || at('*'))) return broken("a key starts with a-z or *");
  const auto belongs = [](char c) {
    return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*';
  };
  return std::string(take_while(belongs));
}

Result<BareItem> Parser::integer() {
  const bool negative = take('-');
  const std::string_view digits = take_while(is_digit);
  if (digits.empty() || digits.size() > kDigitsMax || at('.'))
    return broken("a number is no integer of 15 digits");
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return BareItem(negative ? -value : value);
}

Result<BareItem> Parser::string() {
  take('"');
  std::string value;
  while (!rest_.empty()) {
    if (take('"')) return BareItem(std::move(value));
    const bool escaped = take('\\');
    if (rest_.empty()) break;
    const char c = rest_.front();
    if (c < 0x20 || c > 0x7e || (escaped && c != '"' && c != '\\'))
      return broken("a string has a foreign character");
    value.push_back(c);
    rest_.remove_prefix(1);
  }
  return broken("a string does not end");
}

Result<BareItem> Parser::bytes() {
  take(':');
  const std::size_t end = rest_.find(':');
  if (end == std::string_view::npos) return broken("a byte sequence does not end");
  std::optional<std::string> bytes = from_base64(rest_.substr(0, end));
  if (!bytes) return broken("a byte sequence is not base64");
  rest_.remove_prefix(end + 1);
  return BareItem(Bytes{*std::move(bytes)});
}

Result<BareItem> Parser::boolean() {
  take('?');
  if (take('1')) return BareItem(true);
  if (take('0')) return BareItem(false);
  return broken("a boolean is neither ?0 nor ?1");
}

Result<BareItem> Parser::bare_item() {
  if (at('"')) return string();
  if (at(':')) return bytes();
  if (at('?')) return boolean();
  if (rest_.empty()) return broken("a value is missing");
  if (at('-') || is_digit(rest_.front())) return integer();
  if (!is_alpha(rest_.front()) && !at('*')) return broken("a value starts with a foreign character");
  const auto belongs = [](char c) {
    return is_alpha(c) || is_digit(c) || kTokenMarks.find(c) != std::string_view::npos;
  };
  return BareItem(Token{std::string(take_while(belongs))});
}

Result<Parameters> Parser::parameters() {
  Parameters parameters;
  while (take(';')) {
    skip(" ");
    Parameter parameter{.key = {}, .value = true};
    TRY(parameter.key, key());
    if (take('=')) {
      TRY(parameter.value, bare_item());
    }
    if (has(parameters, parameter.key)) return broken("a parameter occurs twice");
    if (parameters.size() == kParametersMax) return broken("too many parameters");
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

Result<Item> Parser::item() {
  Item item;
  TRY(item.value, bare_item());
  TRY(item.parameters, parameters());
  return item;
}

Result<InnerList> Parser::inner_list() {
  take('(');
  InnerList list;
  for (;;) {
    skip(" ");
    if (take(')')) break;
    if (list.items.size() == kItemsMax) return broken("an inner list is too long");
    TRY(Item next, item());
    list.items.push_back(std::move(next));
    if (!at(' ') && !at(')')) return broken("an inner list lacks a space or its end");
  }
  TRY(list.parameters, parameters());
  return list;
}

Result<Member> Parser::member() {
  Member member;
  TRY(member.key, key());
  if (!take('=')) {
    Item flag{.value = true, .parameters = {}};
    TRY(flag.parameters, parameters());
    member.value = std::move(flag);
  } else if (at('(')) {
    TRY(member.value, inner_list());
  } else {
    TRY(member.value, item());
  }
  return member;
}

Result<Dictionary> Parser::dictionary() {
  Dictionary dictionary;
  skip(" \t");
  while (!rest_.empty()) {
    TRY(Member next, member());
    for (const Member& earlier : dictionary) {
      if (earlier.key == next.key) return broken("a key occurs twice");
    }
    if (dictionary.size() == kMembersMax) return broken("too many members");
    dictionary.push_back(std::move(next));
    skip(" \t");
    if (rest_.empty()) break;
    if (!take(',')) return broken("a comma is missing");
    skip(" \t");
    if (rest_.empty()) return broken("nothing follows the last comma");
  }
  return dictionary;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  return result + '"';
}

struct ToText {
  std::string operator()(bool value) const { return value ? "?1" : "?0"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const Token& value) const { return value.text; }
  std::string operator()(const Bytes& value) const { return ':' + to_base64(value.bytes) + ':'; }
};

std::string serialize(const Parameters& parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) {
    text += ';' + parameter.key;
    if (parameter.value != BareItem(true)) text += '=' + serialize(parameter.value);
  }
  return text;
}

}  // namespace

Result<Dictionary> parse_dictionary(std::string_view text) {
  if (text.size() > kTextSizeMax) return broken("it is too long");
  return Parser(text).dictionary();
}

std::string serialize(const BareItem& value) { return std::visit(ToText{}, value); }

std::string serialize(const InnerList& list) {
  std::string text = "(";
  for (const Item& item : list.items) {
    if (text.size() > 1) text += ' ';
    text += serialize(item.value) + serialize(item.parameters);
  }
  return text + ')' + serialize(list.parameters);
}

const std::string* bytes_of(const Member& member) {
  const Item* item = std::get_if<Item>(&member.value);
  const Bytes* sequence = item == nullptr ? nullptr : std::get_if<Bytes>(&item->value);
  return sequence == nullptr ? nullptr : &sequence->bytes;
}

}  // namespace tagring::signatures::sf

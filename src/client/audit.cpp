// tagring audit, takedown: who left out what it had taken (docs/audit.md).
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <memory>

#include "audit/evidence.hpp"
#include "base/bytes.hpp"
#include "base/time.hpp"
#include "cli/exit.hpp"
#include "client/ask.hpp"
#include "config/file.hpp"
#include "crypto/hash.hpp"
#include "http/url.hpp"

namespace tagring::client {
namespace {

constexpr std::size_t kEvidenceMax = 1U << 20U;  // bytes

struct AuditOptions {
  ControlOptions control;
  std::string tag;
  std::string out = ".";
  std::string verify;
  bool last = false;
};

// One file for each omission that is proved; their names are put into the findings. A file is called by what
// is in it, since a proof cannot be made again once the owner has the post.
Result<void> write_evidence(const std::string& directory, json::object* report) {
  constexpr std::size_t kDigits = 32;  // of the hash: nobody makes two proofs that share so many
  Result<void> written;
  json::value* findings = report->if_contains("findings");
  if (findings == nullptr || !findings->is_array()) return written;
  for (json::value& element : findings->get_array()) {
    json::object& finding = element.get_object();
    const json::object* evidence = json::get_object(finding, "evidence");
    if (evidence == nullptr) continue;
    std::error_code ignored;  // a file that cannot be written says so
    std::filesystem::create_directories(directory, ignored);
    const std::string text = json::serialize(*evidence);
    const std::string path =
        fmt::format("{}/omission-{}-{}.json", directory, host_of(json::text_of(finding, "owner")),
                    to_hex(crypto::sha256(text)).substr(0, kDigits));
    std::ofstream file(path, std::ios::binary);
    file << text << '\n';
    file.close();
    if (file) {
      finding["file"] = path;
    } else {
      written = fail(ErrorCode::kUnavailable, path + ": cannot be written");
    }
  }
  return written;
}

// Findings of something that is missing, proved or not, or of which nobody says whether it is. What somebody
// took down, and says so, is not, nor what nobody but one who may lie says was ever there.
std::size_t missing(const json::object& report) {
  std::size_t count = 0;
  json::for_each(json::find(report, "findings"), [&](const json::value& element) {
    const std::string kind = json::text_of(element.get_object(), "kind");
    count += kind == "taken_down" || kind == "disputed" ? 0 : 1;
  });
  return count;
}

void print_report(const json::object& report) {
  fmt::print("#{}: {} posts, {} receipts of owners\n", json::text_of(report, "tag"),
             number_of(report, "posts"), number_of(report, "receipts"));
  json::for_each(json::find(report, "owners"), [](const json::value& element) {
    const json::object& owner = element.get_object();
    const std::string error = json::text_of(owner, "error");
    fmt::print("  {:<40} {} asked for, {} there{}\n", json::text_of(owner, "owner"),
               number_of(owner, "posts"), number_of(owner, "live"), error.empty() ? "" : "; " + error);
  });
  std::size_t count = 0;
  json::for_each(json::find(report, "findings"), [&](const json::value& element) {
    const json::object& finding = element.get_object();
    fmt::print("\n{}\n  {}\n", json::text_of(finding, "kind"), json::text_of(finding, "words"));
    if (const std::string file = json::text_of(finding, "file"); !file.empty())
      fmt::print("  evidence: {}\n", file);
    ++count;
  });
  if (count == 0) fmt::print("nothing is missing of what owners signed that they took\n");
}

int audit(const AuditOptions& options) {
  Result<json::object> report = ask_node(options.control, "GET", "/audit?tag=" + percent_encode(options.tag));
  if (!report) return cli::report(report.error());
  const Result<void> written = write_evidence(options.out, &*report);
  if (options.control.json) {
    fmt::print("{}\n", json::serialize(*report));
  } else {
    print_report(*report);
  }
  if (!written) return cli::report(written.error());
  return missing(*report) == 0 ? kExitOk : kExitFailed;
}

int last(const AuditOptions& options) {
  return tell(options.control, ask_node(options.control, "GET", "/audits"), [&](const json::object& answer) {
    json::for_each(json::find(answer, "audits"), [](const json::value& element) {
      const json::object& report = element.get_object();
      fmt::print("\n{}\n", json::text_of(report, "at"));
      print_report(report);
    });
  });
}

Result<audit::Evidence> evidence_in(const std::string& text) {
  const Result<json::object> object = json::parse_object(text);
  if (!object) return fail(ErrorCode::kInvalid, "what the file has is no JSON object");
  return audit::evidence_from_json(*object);
}

int verify(const AuditOptions& options) {
  const Result<std::string> text = config::read_file(options.verify, kEvidenceMax);
  // Another exit code than that of a file that was read and proves nothing.
  if (!text) return report({ErrorCode::kInvalid, text.error().message});
  const Result<audit::Evidence> evidence = evidence_in(*text);
  const Result<void> proved = evidence ? audit::check(*evidence) : std::unexpected(evidence.error());
  if (options.control.json) {
    json::object result = {{"proved", proved.has_value()}};
    if (!proved) result["because"] = proved.error().message;
    if (evidence) {
      result["owner"] = evidence->head.actor;
      result["tag"] = evidence->head.partition.tag.canonical();
      result["uri"] = evidence->receipt.item.uri;
      result["accepted_at"] = to_rfc3339(evidence->receipt.batch.at);
      result["absent_at"] = to_rfc3339(evidence->head.at);
    }
    fmt::print("{}\n", json::serialize(result));
  } else if (proved) {
    fmt::print(
        "proved: the owner of this key signed at {} that it took\n  {}\nunder #{}, and at {} that its "
        "history does "
        "not have it.\nIt calls itself {}. Whether the key is its is for you to look up there:\n{}",
        to_rfc3339(evidence->receipt.batch.at), evidence->receipt.item.uri,
        evidence->head.partition.tag.canonical(), to_rfc3339(evidence->head.at), evidence->head.actor,
        evidence->key);
  } else {
    fmt::print("not proved: {}\n", proved.error().message);
  }
  return proved ? kExitOk : kExitFailed;
}

struct TakeDownOptions {
  ControlOptions control;
  std::string tag;
  std::string uri;
  std::string reason;
  bool undo = false;
};

int undo_take_down(const TakeDownOptions& options) {
  const json::object request = {{"tag", options.tag}, {"uri", options.uri}};
  return tell(options.control, ask_node(options.control, "POST", "/takedown/undo", request),
              "shown here again");
}

int take_down(const TakeDownOptions& options) {
  if (options.undo) return undo_take_down(options);
  const json::object request = {{"tag", options.tag}, {"uri", options.uri}, {"reason", options.reason}};
  return tell(options.control, ask_node(options.control, "POST", "/takedown", request),
              "taken down here; other owners keep theirs. Auditors are shown the reason.");
}

}  // namespace

void add_audit(CLI::App& app, int& status) {
  auto options = std::make_shared<AuditOptions>();
  CLI::App* command =
      app.add_subcommand("audit", "Find posts that the owners of a hashtag took and do not have; prove it");
  command->add_option("tag", options->tag, "The hashtag, with or without #");
  command->add_option("--out", options->out, "Folder for the evidence, a file for each omission")
      ->capture_default_str();
  command->add_option("--verify", options->verify, "Check a file of evidence, without any node");
  command->add_flag("--last", options->last, "Show the last audits that the node made");
  add_control_options(*command, options->control);
  command->footer(
      "Exit code 0: nothing is missing; 1: something is, with evidence or without, or no owner of a part "
      "said what it has, or\nthe audit failed. Of "
      "--verify "
      "0:\nthe file proves an omission; 1: it does not; 2: it cannot be read.\n\nExample:\n  tagring audit "
      "'#caturday' --out "
      "evidence\n"
      "  tagring audit --verify evidence/omission-tags.example.org-4fc82b26aecb47d2868c4efbe3581732.json");
  command->callback([options, &status] {
    const int asked =
        (options->tag.empty() ? 0 : 1) + (options->verify.empty() ? 0 : 1) + (options->last ? 1 : 0);
    if (asked != 1) {
      status = report({ErrorCode::kInvalid, "name a hashtag, or a file with --verify, or say --last"});
    } else if (options->last) {
      status = last(*options);
    } else {
      status = options->verify.empty() ? audit(*options) : verify(*options);
    }
  });
}

void add_takedown(CLI::App& app, int& status) {
  auto options = std::make_shared<TakeDownOptions>();
  CLI::App* command = app.add_subcommand("takedown", "Take a post out of the history that this node shows");
  command->add_option("tag", options->tag, "The hashtag, with or without #")->required();
  command->add_option("uri", options->uri, "The post")->required();
  auto* reason =
      command->add_option("--reason", options->reason, "Why: signed, and shown to everybody who audits");
  auto* undo = command->add_flag("--undo", options->undo, "Show a post again that was taken down");
  reason->excludes(undo);
  add_control_options(*command, options->control);
  command->footer(
      "Example:\n  tagring takedown '#caturday' https://example.org/p/1 --reason 'court order 7 O 12/26'\n"
      "  tagring takedown '#caturday' https://example.org/p/1 --undo");
  command->callback([options, &status] { status = take_down(*options); });
}

}  // namespace tagring::client

#include "runs/audit_run.hpp"

#include "audit/evidence.hpp"
#include "base/assert.hpp"
#include "hashtag/tag.hpp"
#include "sim/world.hpp"

namespace tagring::runs {
namespace {

constexpr const char* kAuditedTag = "caturday";
constexpr std::size_t kAuditor = 1;  // its posts are dropped

class AuditRun {
 public:
  explicit AuditRun(const AuditRunOptions& options)
      : options_(options),
        drops_([this](std::size_t node, const std::string& uri) {
          return node == dropper_ && uri.starts_with("https://n1.example/");
        }),
        world_(options.seed, world_options()) {}

  AuditRunResult run() {
    for (std::size_t i = 0; i < options_.nodes; ++i) world_.start_node(i);
    TR_ASSERT(world_.run_until(std::chrono::minutes(10), [&] { return world_.is_settled(); }));
    world_.loop.run_for(std::chrono::minutes(1));  // hand-overs of the start end
    choose_dropper();
    const Instant begin = world_.loop.now();
    Instant next_audit = begin + options_.audit_every;
    for (std::size_t n = 0; n < options_.posts || result_.seconds < 0; ++n) {
      if (world_.loop.now() - begin > std::chrono::hours(2)) break;
      if (n < options_.posts) world_.publish(n % 2 == 0 ? kAuditor : n % options_.nodes, {kAuditedTag});
      world_.loop.run_for(options_.between);
      if (world_.loop.now() < next_audit) continue;
      audit(begin);
      next_audit += options_.audit_every;
    }
    world_.loop.run_for(std::chrono::minutes(15));
    audit(begin);
    for (const sim::World::Post& post : world_.posts()) result_.dropped += drops_(dropper_, post.uri) ? 1 : 0;
    return result_;
  }

 private:
  sim::WorldOptions world_options() {
    sim::WorldOptions options;
    options.posts_an_hour = 1'000'000;
    (options_.ring == Ring::kStorage ? options.drops_stored : options.drops_relayed) = drops_;
    return options;
  }

  void choose_dropper() {
    const unsigned replicas = options_.ring == Ring::kStorage ? 4 : 2;
    for (unsigned replica = 0; replica < replicas; ++replica) {
      const RingId key = replica_key(Tag::from_canonical(kAuditedTag).key(), replica, replicas);
      for (const std::size_t i : world_.up()) {
        if (i != kAuditor && world_.node(i).rings().of(options_.ring).owning(key) != nullptr) dropper_ = i;
      }
    }
    TR_ASSERT(dropper_ != kNobody);
  }

  void audit(Instant begin) {
    const std::uint64_t messages = world_.messages;
    HttpRequest request;
    request.target = std::string("/audit?tag=") + kAuditedTag;
    const auto answer =
        world_.await(world_.node(kAuditor).control(std::move(request)), std::chrono::minutes(5));
    ++result_.audits;
    const auto per = static_cast<double>(world_.messages - messages);
    result_.messages_per_audit += (per - result_.messages_per_audit) / static_cast<double>(result_.audits);
    const auto report = answer ? json::parse_object(answer->body) : fail(ErrorCode::kTimedOut, "no answer");
    if (!report) return;
    result_.named = result_.proved = 0;
    const std::string dropper = "https://tags.n" + std::to_string(dropper_) + ".example";
    json::for_each(json::find(*report, "findings"), [&](const json::value& element) {
      const json::object& finding = element.get_object();
      const std::string kind = json::text_of(finding, "kind");
      const bool accuses = kind == "omitted" || kind == "not_passed_on" || kind == "no_trace";
      if (!accuses) return;
      if (json::get_string(finding, "owner") != dropper) {
        ++result_.false_named;
        return;
      }
      ++result_.named;
      if (result_.seconds < 0)
        result_.seconds = std::chrono::duration<double>(world_.loop.now() - begin).count();
      const json::object* evidence = json::get_object(finding, "evidence");
      const auto read =
          evidence == nullptr ? fail(ErrorCode::kNotFound, "none") : audit::evidence_from_json(*evidence);
      if (read && audit::check(*read)) ++result_.proved;
    });
  }

  static constexpr std::size_t kNobody = ~std::size_t{0};
  const AuditRunOptions& options_;
  std::size_t dropper_ = kNobody;
  sim::Drops drops_;
  sim::World world_;
  AuditRunResult result_;
};

}  // namespace

AuditRunResult run_audit(const AuditRunOptions& options) { return AuditRun(options).run(); }

}  // namespace tagring::runs

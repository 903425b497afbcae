#include "evaluation/table1.hpp"

namespace tagring::evaluation {
namespace {

Outcome outcome_of(std::string name, const Placement& placement) {
  Outcome outcome;
  outcome.name = std::move(name);
  outcome.fit = fit_of(placement);
  outcome.vservers = placement.active();
  return outcome;
}

Outcome try_setting(Setting setting, const Table1Options& options, double done) {
  options.on_progress(setting.name, done);
  setting.placing.seed = setting.balancing.seed = options.seed;
  const Network network = make_network(options.nodes, options.spectrum, setting.placing);
  const Balanced balanced = balance_network(network, setting.balancing);
  Outcome outcome = outcome_of(setting.name, balanced.placement);
  outcome.rounds = balanced.rounds;
  outcome.moved_ratio = balanced.moved_by_rounds;
  outcome.joins_moved_ratio = balanced.moved_ratio - balanced.moved_by_rounds;
  return outcome;
}

}  // namespace

Setting printed_setting() {
  Setting setting{
      "printed", "everything as the paper prints it: costs in bytes, thresholds 35 % and 95 %", {}, {}};
  setting.balancing.parameters.normalised = false;
  return setting;
}

Setting paper_setting() {
  Setting setting{
      "paper", "the paper's R = 4, κ = 8, IDs and whole keys; costs relative to capacity", {}, {}};
  setting.balancing.parameters.upper = 1;
  // Nodes are as full as the whole network, 89 %, so a target of 65 % is out of everybody's reach.
  setting.balancing.parameters.lower = 0.98;
  setting.balancing.parameters.overload = 0.1;
  setting.balancing.moves_of_round = setting.placing.kappa;
  setting.balancing.create_freely = true;
  return setting;
}

Setting recommended_setting() {
  Setting setting = paper_setting();
  setting.name = "recommended";
  setting.meaning = "R = 4, κ = 48, IDs hashed over /48 and domain, keys split to at most 2 GiB";
  setting.placing.scheme = ring::IdScheme::kSpread;
  setting.placing.kappa = ring::IdRules{}.kappa;
  setting.placing.split_gib = 2;
  setting.balancing.parameters.upper = 0.99;
  setting.balancing.parameters.lower = 0.9;
  setting.balancing.parameters.overload = 10;
  setting.balancing.rounds = 10;
  return setting;
}

Table1 make_table1(const Table1Options& options) {
  Table1 table;
  const Setting paper = paper_setting();
  {
    options.on_progress("unbalanced", 0);
    Placing placing = paper.placing;
    placing.seed = options.seed;
    const Network network = make_network(options.nodes, options.spectrum, placing);
    table.nodes = network.capacity.size();
    table.total_gib = network.total;
    table.heaviest_key_gib = network.heaviest_key;
    table.unbalanced = outcome_of("unbalanced", unbalanced(network));
  }
  table.printed = try_setting(printed_setting(), options, 0.1);
  table.paper = try_setting(paper, options, 0.2);
  table.recommended = try_setting(recommended_setting(), options, 0.6);
  options.on_progress("done", 1);
  return table;
}

}  // namespace tagring::evaluation

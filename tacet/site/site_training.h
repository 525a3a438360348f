// Work of a site in a live federation: the agreed settings, and its own data.
#ifndef TACET_SITE_SITE_TRAINING_H_
#define TACET_SITE_SITE_TRAINING_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "tacet/config/agreed_query.h"
#include "tacet/config/run_config.h"
#include "tacet/simulation/simulation.h"
#include "tacet/trainer/learner.h"

namespace tacet::site {

// A learner whose only client is this site.
struct SiteTraining {
  config::RunConfig config;
  simulation::SimulatedData data;
  double most_frequent_class = 0;  // accuracy of always answering it
  config::LedgerConfig ledger;     // what is asked of the site's ledger
  uint64_t records = 0;
  // Unreadable cells, which are left out, in sentences. They quote the table: for the site alone.
  std::vector<std::string> data_notes = {};
  std::optional<config::LoadedQuery> query;  // where the agreement is about one
  std::unique_ptr<trainer::Learner> learner;
};

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_TRAINING_H_

#include "apps/tacet/client/ledger_flags.h"

#include "tacet/base/status.h"

namespace tacet::app::client {

void LedgerFlags::Register(program::Options& options) {
  options.AddString("ledger",
                    "folder with the ledger of this site's population, which every table used with "
                    "it charges; when not given, $XDG_DATA_HOME/tacet/ledger or "
                    "~/.local/share/tacet/ledger",
                    &folder_);
  options.AddString("ledger-anchor",
                    "file in another place, such as a share, that remembers the ledger's end",
                    &anchor_);
  options.AddString("ledger-rule",
                    "attempts that are charged: announced-attempts, or own-seals without "
                    "amplification by the draw of cohorts; when not given, own-seals where the "
                    "server draws the cohorts",
                    &rule_);
  options.AddString("ledger-composition",
                    "of a new ledger: any-events (the default), or one-event for one federation "
                    "alone",
                    &composition_);
  options.AddDouble(
      "budget-epsilon",
      "of a new ledger: largest epsilon that this site lets its population spend in all",
      &budget_epsilon_);
}

absl::StatusOr<config::LedgerConfig> LedgerFlags::Over(config::LedgerConfig config) const {
  if (folder_.has_value()) config.folder = *folder_;
  if (anchor_.has_value()) config.anchor = *anchor_;
  if (budget_epsilon_.has_value()) config.budget_epsilon = *budget_epsilon_;
  if (composition_.has_value()) {
    TACET_ASSIGN_OR_RETURN(config.composition, accounting::ParseComposition(*composition_));
  }
  if (rule_.has_value()) {
    TACET_ASSIGN_OR_RETURN(config.rule, ledger::ParseChargingRule(*rule_));
  }
  return config;
}

}  // namespace tacet::app::client

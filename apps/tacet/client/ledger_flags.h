// Flags that override section [ledger] of a site's file.
#ifndef TACET_APPS_TACET_CLIENT_LEDGER_FLAGS_H_
#define TACET_APPS_TACET_CLIENT_LEDGER_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/config/run_config.h"

namespace tacet::app::client {

class LedgerFlags {
 public:
  void Register(program::Options& options);
  // InvalidArgument for a word that is not among the choices.
  absl::StatusOr<config::LedgerConfig> Over(config::LedgerConfig config) const;

 private:
  std::optional<std::string> folder_, anchor_, composition_, rule_;
  std::optional<double> budget_epsilon_;
};

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_LEDGER_FLAGS_H_

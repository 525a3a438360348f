// `tacet ledger`: the spent part of data sets' privacy budgets, and the integrity of the ledgers.
#ifndef TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_

#include <memory>
#include <vector>

#include "apps/tacet/program/command.h"

namespace tacet::app::privacy {

// `more`: subcommands that need a program that can read data.
std::unique_ptr<program::Command> NewLedgerCommand(
    std::vector<std::unique_ptr<program::Command>> more);

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_

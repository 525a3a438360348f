// `tacet ledger`: the spent part of populations' privacy budgets, and the integrity of the ledgers.
#ifndef TACET_APPS_TACET_LEDGER_LEDGER_COMMAND_H_
#define TACET_APPS_TACET_LEDGER_LEDGER_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::ledger {

std::unique_ptr<program::Command> NewLedgerCommand();

}  // namespace tacet::app::ledger

#endif  // TACET_APPS_TACET_LEDGER_LEDGER_COMMAND_H_

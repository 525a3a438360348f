// `tacet ledger show|verify`: the spent part of a data set's privacy budget, and the integrity of
// the ledger file.
#ifndef TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::privacy {

std::unique_ptr<program::Command> NewLedgerCommand();

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_

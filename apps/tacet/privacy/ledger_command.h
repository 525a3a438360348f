// `tacet ledger show|verify`: what was spent of a data set's privacy, and whether the file is
// whole.
#ifndef TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app {

std::unique_ptr<Command> NewLedgerCommand();

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_PRIVACY_LEDGER_COMMAND_H_

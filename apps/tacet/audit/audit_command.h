// `tacet audit`: a signed record of a run's privacy guarantee, and its verification.
#ifndef TACET_APPS_TACET_AUDIT_AUDIT_COMMAND_H_
#define TACET_APPS_TACET_AUDIT_AUDIT_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::audit {

std::unique_ptr<program::Command> NewAuditCommand();

}  // namespace tacet::app::audit

#endif  // TACET_APPS_TACET_AUDIT_AUDIT_COMMAND_H_

// Command `tacet data score`: a table with one column more, the model's probability for each row.
#ifndef TACET_APPS_TACET_DATA_SCORE_COMMAND_H_
#define TACET_APPS_TACET_DATA_SCORE_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::data {

std::unique_ptr<program::Command> NewDataScoreCommand();

}  // namespace tacet::app::data

#endif  // TACET_APPS_TACET_DATA_SCORE_COMMAND_H_

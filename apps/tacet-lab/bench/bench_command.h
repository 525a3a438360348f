#ifndef TACET_APPS_TACET_LAB_BENCH_BENCH_COMMAND_H_
#define TACET_APPS_TACET_LAB_BENCH_BENCH_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::bench {

// `tacet-lab bench he|dp|train`: what sealing, adding and opening, or clipping, noise and
// quantisation, cost on this machine, or how fast it trains.
std::unique_ptr<program::Command> NewBenchCommand();

}  // namespace tacet::app::bench

#endif  // TACET_APPS_TACET_LAB_BENCH_BENCH_COMMAND_H_

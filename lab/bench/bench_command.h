#ifndef TACET_LAB_BENCH_BENCH_COMMAND_H_
#define TACET_LAB_BENCH_BENCH_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::bench {

// `tacet-lab bench he|dp|train|kernels|records|pair-keys`: speed of this machine in sealing, adding
// and decrypting; in clipping, noise and quantisation; in training; in the inner loops; in clipping
// every record; and in making an epoch's pair keys.
std::unique_ptr<program::Command> NewBenchCommand();

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_COMMAND_H_

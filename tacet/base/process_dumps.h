// Core dumps of a process that holds keys.
#ifndef TACET_BASE_PROCESS_DUMPS_H_
#define TACET_BASE_PROCESS_DUMPS_H_

namespace tacet::base {

// Hereafter this process leaves no core dump, also not through a program that the system hands
// dumps to. Other processes of the same user can neither trace it nor read its memory. Processes
// that it forks keep this until they run another program. That program starts with a limit of 0
// bytes for its core dumps, which it may raise.
void ForbidDumps();

}  // namespace tacet::base

#endif  // TACET_BASE_PROCESS_DUMPS_H_

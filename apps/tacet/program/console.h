// Text of the library on a stream of the program.
#ifndef TACET_APPS_TACET_PROGRAM_CONSOLE_H_
#define TACET_APPS_TACET_PROGRAM_CONSOLE_H_

#include <cstdio>

#include "tacet/base/text_sink.h"

namespace tacet::app::program {

// Writes to `stream`, which must outlive all copies, and flushes it.
base::TextSink Console(std::FILE* stream);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_CONSOLE_H_

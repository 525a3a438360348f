// Text of the library on a stream of the program.
#ifndef TACET_APPS_TACET_PROGRAM_CONSOLE_H_
#define TACET_APPS_TACET_PROGRAM_CONSOLE_H_

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "tacet/base/text_sink.h"

namespace tacet::app::program {

// Writes to `stream`, which must outlive all copies, and flushes it.
base::TextSink Console(std::FILE* stream);

// Text in UTF-8 with its lines broken at blanks, so that none has more than `columns` characters. A
// word that is longer stays whole.
std::string Folded(std::string_view text, size_t columns = 100);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_CONSOLE_H_

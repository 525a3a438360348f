#include "apps/tacet/program/console.h"

#include <string_view>

namespace tacet::app::program {

base::TextSink Console(std::FILE* stream) {
  return base::TextSink([stream](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  });
}

}  // namespace tacet::app::program

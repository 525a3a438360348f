// Receiver of text for people: the library prints nothing by itself.
#ifndef TACET_BASE_TEXT_SINK_H_
#define TACET_BASE_TEXT_SINK_H_

#include <functional>
#include <string_view>
#include <utility>

#include "fmt/core.h"

namespace tacet::base {

// Copies share one receiver.
class TextSink {
 public:
  // Nobody reads the text.
  TextSink() = default;
  // `write` gets whole lines, as soon as they are complete.
  explicit TextSink(std::function<void(std::string_view text)> write) : write_(std::move(write)) {}

  template <typename... Values>
  void Print(fmt::format_string<Values...> format, Values&&... values) const {
    if (write_) write_(fmt::format(format, std::forward<Values>(values)...));
  }

 private:
  std::function<void(std::string_view)> write_;
};

}  // namespace tacet::base

#endif  // TACET_BASE_TEXT_SINK_H_

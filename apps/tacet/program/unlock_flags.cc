#include "apps/tacet/program/unlock_flags.h"

#include <optional>

#include "fmt/core.h"

namespace tacet::app::program {

void UnlockFlags::Register(Options& options, std::string_view prefix) {
  source_.prefix = prefix;
  options.AddString(
      fmt::format("{}passphrase-file", prefix),
      fmt::format("file whose first line is the {}passphrase of the keys (readable by you alone); "
                  "asked for on the terminal when neither this nor --{}key-file is given",
                  prefix.empty() ? "" : "new ", prefix),
      &source_.passphrase_file);
  options.AddString(
      fmt::format("{}key-file", prefix),
      "file of random bytes that encrypts the keys instead of a passphrase (readable by you "
      "alone); a command that makes keys creates it when it is missing",
      &source_.key_file);
}

std::vector<std::string> UnlockFlags::Words() const {
  std::vector<std::string> words;
  const auto add = [&](std::string_view name, const std::optional<std::string>& given) {
    if (!given.has_value()) return;
    words.push_back(fmt::format("--{}{}", source_.prefix, name));
    words.push_back(*given);
  };
  add("passphrase-file", source_.passphrase_file);
  add("key-file", source_.key_file);
  return words;
}

}  // namespace tacet::app::program

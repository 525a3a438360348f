#include "apps/tacet/program/unlock_flags.h"

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

}  // namespace tacet::app::program

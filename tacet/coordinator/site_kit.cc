#include "tacet/coordinator/site_kit.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/coordinator/client_unit.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::coordinator {
namespace {

constexpr std::string_view kEnding = "-kit.md";

// For a table of this site; a query describes its tables itself.
constexpr std::string_view kSiteConfig = R"(## site.toml

This site's own settings. Save them as `site.toml` beside the invitation. The agreement says what the
columns mean; these keys say how the file is written (docs/formats/configuration.md, docs/guide/tables.md).

```toml
[data]
csv_client_column = ""       # every row of the file is this site's
# csv_separator = "semicolon"  # auto, comma, semicolon, tab, bar
# csv_decimal = "comma"        # point, comma
# csv_thousands = "blank"      # none, comma, point, blank, apostrophe
# csv_spellings = ["sex one-of=F|femme,M|homme"]  # the agreed value first
```

)";

}  // namespace

std::string DefaultServer(const agreement::SignedManifest& manifest) {
  const std::string& host = manifest.server().hosts.front();
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, kDefaultPort)
                                             : fmt::format("[{}]:{}", host, kDefaultPort);
}

absl::Status CheckKitServer(const agreement::SignedManifest& manifest, std::string_view server) {
  if (server.empty()) return absl::OkStatus();
  const std::vector<std::string>& hosts = manifest.server().hosts;
  const size_t colon = server.rfind(':');
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : server.substr(colon + 1);
  std::string_view host = server.substr(0, std::min(colon, server.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool is_number = !port.empty() && port.size() <= 5 &&
                         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && std::ranges::find(hosts, host) != hosts.end()) return absl::OkStatus();
  return base::InvalidArgument(
      "--server is {}: expected HOST:PORT with a host that the server {} was enrolled with: {}",
      server, manifest.server().name, fmt::join(hosts, ", "));
}

std::string SiteKit(const agreement::SignedManifest& manifest, uint64_t member,
                    std::string_view server) {
  const std::string& name = manifest.members()[member].name;
  const bool is_query = manifest.manifest().spec().model == agreement::kQueryModel;
  const std::string_view config = is_query ? "" : " --config site.toml";
  return fmt::format(
             "# Kit of {0}: member {1} of {2} of {3}, epoch {4}\n\n"
             "It comes with the invitation `{0}-epoch-{4}.tacet`. Nothing in it is secret, and "
             "nothing in it is signed: the\ninvitation is. Compare the coordinator's fingerprint "
             "with the one that you were told by telephone.\n\n"
             "## 1. Accept the invitation\n\n"
             "```sh\ntacet client join {0}-epoch-{4}.tacet --coordinator \"FINGERPRINT\"\n```\n\n"
             "Put the fingerprint that you were told in the place of FINGERPRINT; later epochs do "
             "not need it. Your privacy\nofficer reads the guarantee that the command prints.\n\n"
             "## 2. Take part\n\n"
             "```sh\ntacet client run --server {5} --data DATA{6}\n```\n\n"
             "DATA is this site's table. If something is in the way, this tests folder, "
             "certificate, proxy, path and clocks,\nand charges nothing:\n\n"
             "    tacet client check --server {5}\n\n",
             name, member, manifest.members().size(), manifest.federation(), manifest.epoch(),
             server, config) +
         (is_query ? "" : std::string(kSiteConfig)) +
         fmt::format(
             "## As a service\n\n"
             "In place of step 2. Install the package `tacet`, which has the unit file below, or "
             "save it as\n`/etc/systemd/system/tacet-client.service`. Accept the invitation as the "
             "user `tacet` with `--home /var/lib/tacet`,\nput the key file into a credential (the "
             "page docs/deploy.md has the command), and save this as\n`/etc/tacet/client.env`:\n\n"
             "```ini\nTACET_CLIENT_OPTIONS=\"--server {} --data "
             "/var/lib/tacet/data.csv{}\"\n```\n\n"
             "Then `systemctl enable --now tacet-client`.\n\n"
             "```ini\n{}```\n",
             server, is_query ? "" : " --config /etc/tacet/site.toml", ClientUnit());
}

absl::StatusOr<std::vector<std::filesystem::path>> WriteSiteKits(
    const agreement::SignedManifest& manifest, std::string_view server,
    const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> kits;
  if (manifest.server().name.empty() || manifest.server().hosts.empty()) return kits;
  const std::string address = server.empty() ? DefaultServer(manifest) : std::string(server);
  TACET_RETURN_IF_ERROR(CheckKitServer(manifest, address));
  std::error_code error;
  std::vector<std::filesystem::path> old;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().filename().string().ends_with(kEnding)) old.push_back(file->path());
  }
  for (const std::filesystem::path& kit : old) std::filesystem::remove(kit, error);
  for (uint64_t member = 0; member < manifest.members().size(); ++member) {
    std::filesystem::path kit =
        folder / fmt::format("{}{}", manifest.members()[member].name, kEnding);
    TACET_RETURN_IF_ERROR(
        storage::file::ReplaceFile(kit, base::AsBytes(SiteKit(manifest, member, address))));
    kits.push_back(std::move(kit));
  }
  return kits;
}

}  // namespace tacet::coordinator

// Sites of a federation as one process, for tests in other languages.
// usage: drive_rounds_for_test SERVER STEP HOME...
//   STEP show-up       every site asks the server once: it learns that they are there
//        upload-some   all sites but the last upload
//        upload-last   the last one does
//        object        the last one says that the attempt begins with another model than its own
//        decrypt       the committee votes, unmasks and confirms, all attest the next model
//   HOME               a folder that joined; HOME.key locks its keys
#include <string_view>

#include "fmt/core.h"

#include "tests/integration/site_for_test.h"

namespace tacet::app {
namespace {

absl::Status Drive(std::string_view step, SitesForTest sites) {
  if (step == "show-up") return ShowUp(sites);
  if (step == "object") return sites.back()->Object();
  if (step == "decrypt") return DecryptRound(sites);
  if (step == "upload-some") return UploadAll(sites, sites.size() - 1).status();
  if (step == "upload-last") {
    std::ranges::reverse(sites);
    return UploadAll(sites, 1).status();
  }
  return base::InvalidArgument("no step is called {}", step);
}

absl::Status Main(int argc, char** argv) {
  if (argc < 4) return base::InvalidArgument("usage: SERVER STEP HOME...");
  SitesForTest sites;
  for (int i = 3; i < argc; ++i) {
    TACET_ASSIGN_OR_RETURN(auto site,
                           SiteForTest::Open(argv[i], std::string(argv[i]) + ".key", argv[1]));
    sites.push_back(std::move(site));
  }
  return Drive(argv[2], std::move(sites));
}

}  // namespace
}  // namespace tacet::app

int main(int argc, char** argv) {
  const absl::Status status = tacet::app::Main(argc, argv);
  if (!status.ok()) fmt::print(stderr, "{}\n", tacet::base::Message(status));
  return status.ok() ? 0 : 1;
}

// Member of a live federation inside of another framework: the framework's app at the site trains,
// and carries the member's calls.
#ifndef TACET_SITE_APP_MEMBER_H_
#define TACET_SITE_APP_MEMBER_H_

#include <cstdint>
#include <filesystem>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/base/text_sink.h"
#include "tacet/site/site_member.h"
#include "tacet/site/site_training.h"

namespace tacet::site {

struct AppMemberSpec {
  std::filesystem::path socket;
  // For this site, with unit record or person.
  std::optional<uint64_t> units = std::nullopt;
  base::TextSink out = {};  // lines about rounds
};

// As SiteMember::Run, over a socket at which the app connects. Errors also those of
// AppSocket::Listen, and InvalidArgument without units where the unit needs them. Both the end and
// an error are told to the app, for which it waits two minutes.
absl::StatusOr<SiteMemberEnd> RunForApp(const SiteMember& member, const SiteTraining& training,
                                        const AppMemberSpec& spec, const SiteMemberHooks& hooks);

}  // namespace tacet::site

#endif  // TACET_SITE_APP_MEMBER_H_

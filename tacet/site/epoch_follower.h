// A running site that follows its federation's epochs: it joins by itself what its officer's policy
// accepts, replies to the coordinator, and leaves its keys for the next epoch
// (docs/design/mailbox.md).
#ifndef TACET_SITE_EPOCH_FOLLOWER_H_
#define TACET_SITE_EPOCH_FOLLOWER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/protocol/mail_client.h"
#include "tacet/site/site_mail.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::site {

struct EpochFollowerSpec {
  std::filesystem::path home;
  std::optional<std::string> policy;  // none: policy.toml in the home
  const agreement::MemberKeys& keys;
  const crypto::Unlocker& unlocker;
  // Sentences for the site's people.
  std::function<void(const std::string& text)> on_note = nullptr;
};

// Everything but the decision about a letter is on the disk of the folder, so a process that is
// killed at any moment is replaced by another one. Not thread-safe.
class EpochFollower {
 public:
  explicit EpochFollower(EpochFollowerSpec spec) : spec_(std::move(spec)) {}

  struct Looked {
    std::optional<uint32_t> waiting = std::nullopt;  // epoch for which a person is needed
  };
  // Looks at the mail once. An invitation that is news is joined where the policy accepts it or
  // where it has the joined manifest, as one with a renewed certificate. Otherwise the reply names
  // the fields that stop it, once for each letter and policy. Without news it ends what an earlier
  // join had left to do. No table of data is read. Errors are those of the way to the server and of
  // the folder; the next call tries again.
  absl::StatusOr<Looked> Look(const protocol::MailClient& mail);

 private:
  absl::StatusOr<Looked> LookAtLetter(const protocol::MailClient& mail, const FoundLetter& found,
                                      const storage::file::Membership& joined,
                                      storage::file::SiteFolder& folder);
  // Makes and leaves the keys of the next epoch, and ends the letter.
  absl::Status LeaveKeys(const protocol::MailClient& mail, const storage::file::Membership& joined,
                         storage::file::SiteFolder& folder);
  // The result of work in the site's folder, whose failure is told once: unlike one on the way to
  // the server, it may need a person.
  template <typename Result>
  Result Told(Result result, std::string_view what) {
    if constexpr (std::is_same_v<Result, absl::Status>) {
      if (!result.ok()) Tell(result, what);
    } else {
      if (!result.ok()) Tell(result.status(), what);
    }
    return result;
  }
  void Tell(const absl::Status& failure, std::string_view what);
  // The policy's bytes as they are now, so that another one is asked about the same letter.
  crypto::Digest PolicyNow() const;
  void Note(const std::string& text) const {
    if (spec_.on_note) spec_.on_note(text);
  }

  struct Asked {
    crypto::Digest letter{}, policy{};
    friend bool operator==(const Asked&, const Asked&) = default;
  };

  EpochFollowerSpec spec_;
  std::optional<Asked> asked_;  // that a person is needed for, last
  bool left_keys_ = false;      // those for the next epoch, since the last join
  std::string told_;            // of a failure, last
};

}  // namespace tacet::site

#endif  // TACET_SITE_EPOCH_FOLLOWER_H_

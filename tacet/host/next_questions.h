// Prediction of what a member asks next, so that its answers travel with a message that is on its
// way anyhow (docs/design/transport.md).
#ifndef TACET_HOST_NEXT_QUESTIONS_H_
#define TACET_HOST_NEXT_QUESTIONS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"
#include "tacet/server/request_handler.h"
#include "tacet/server/round_server.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet::host {

// The state that a member has to see before its next step, once something of it was taken.
struct Awaited {
  enum class What : uint8_t {
    kAttempt,  // that begins
    kSum,      // that the attempt has
    kVotes,    // as many as a seat needs to give its share
    kShares,   // as many as decrypt
    kEnd,      // of the attempt
  };
  What what = What::kAttempt;
  secagg::AttemptNumber attempt = {};  // not of kAttempt
};

// For one member. A wrong prediction costs a message, and nothing else: the member then asks.
class NextQuestions {
 public:
  // All must outlive it.
  NextQuestions(const agreement::SignedManifest& manifest, tacet::server::RequestHandler& handler,
                const tacet::server::RoundServer& rounds, uint64_t member)
      : manifest_(manifest), handler_(handler), rounds_(rounds), member_(member) {}

  uint64_t member() const { return member_; }

  // The member waits for an announcement; it heard one, in an answer to its own request.
  void NoteAwait(const protocol::AwaitRequest& request);
  void NoteAnnouncement(std::span<const uint8_t> announcement);
  // The answers that were told and pushed last have been lost.
  void Forget();
  // The state that the member waits for after this request, which was accepted with this answer.
  // Nothing when it has something to do, or that cannot be told.
  std::optional<Awaited> AwaitedAfter(const protocol::RequestHead& request,
                                      const base::Bytes& answer) const;
  // Whether it is there, or will not come.
  bool IsThere(const Awaited& awaited) const;
  // Whether it has something to do that it did not know of at the last call of Answers.
  bool HasNews() const;
  // Answers to what it may ask now.
  std::vector<transport::relay::PushedAnswer> Answers();

 private:
  // The state that a member acts on.
  struct Stage {
    std::optional<protocol::AnnouncedAttempt> current;
    uint32_t finished = 0;
    bool stopped = false;
    size_t votes = 0, shares = 0;  // 0 below the number that a seat needs
    size_t opening_statements = 0;

    friend bool operator==(const Stage&, const Stage&) = default;
  };
  // The known part of an announcement that the member may have heard last.
  struct Heard {
    uint64_t revision = 0;
    uint64_t listed = 0;  // attempts

    friend auto operator<=>(const Heard&, const Heard&) = default;
  };
  using Pushed = std::vector<transport::relay::PushedAnswer>;

  bool HasSeat() const;
  Stage StageNow() const;
  size_t Shares(const secagg::Attempt& attempt) const;
  void PushAnnouncements(Pushed& pushed);
  void PushSum(const secagg::Attempt& attempt, bool published, Pushed& pushed);
  // All parts of an object, once for each of the two times that a member needs it. False when it
  // was pushed before.
  bool PushObject(protocol::BulkKind kind, const secagg::Attempt& attempt, bool published,
                  Pushed& pushed);
  // Nothing when the server does not answer that now.
  std::optional<base::Bytes> Push(const protocol::RequestBody& body, Pushed& pushed);

  const agreement::SignedManifest& manifest_;
  tacet::server::RequestHandler& handler_;
  const tacet::server::RoundServer& rounds_;
  uint64_t member_;
  std::set<Heard> heard_ = {Heard{}};
  std::optional<Stage> told_;
  std::set<std::pair<crypto::Digest, bool>> objects_;  // that were pushed
  bool packets_pushed_ = false;
};

}  // namespace tacet::host

#endif  // TACET_HOST_NEXT_QUESTIONS_H_

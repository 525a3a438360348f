// Mail at a federation's server: heads of requests, letters, enclosures, replies, and a mailbox
// that takes whole requests. The first byte picks what the rest is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_federation.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/mail_request.h"
#include "tacet/server/mailbox_wire_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"

namespace {

using namespace tacet;

// It may be given anything that the coordinator or a site signs, and keeps what it takes.
class FuzzMailbox {
 public:
  explicit FuzzMailbox(const fuzz::FuzzFederation& known)
      : limits_({.burst = 1e18, .burst_bytes = 1e18}, 2, [] { return 0.0; }),
        mailbox_(
            fuzz::ValueOrDie(server::Mailbox::Open(known.manifest, blobs_, limits_, observer_,
                                                   [] { return fuzz::FuzzFederation::kNow; }))) {}
  void Give(std::span<const uint8_t> request) {
    const auto answer = server::testing::AnswerOf(*mailbox_, request, std::nullopt);
    if (answer.ok() && answer->size() > (size_t{2} << 20) + 12) std::abort();
  }

 private:
  server::MemoryBlobStore blobs_;
  server::testing::IgnoringObserver observer_;
  server::RequestLimits limits_;
  std::unique_ptr<server::Mailbox> mailbox_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::FuzzFederation& known = *new fuzz::FuzzFederation;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const crypto::Digest& federation = known.manifest.manifest().federation();
  switch (data[0] % 5) {
    case 0: {
      const auto head = protocol::ReadMailHead(bytes, federation);
      if (!head.ok()) break;
      if (head->head_bytes > bytes.size() || head->head_bytes > protocol::kMaxMailHeadBytes) {
        std::abort();
      }
      const bool by_site = head->request.sender == known.site.signing.public_key();
      const auto content = bytes.subspan(head->head_bytes);
      if (crypto::Sha256(content) != head->content_digest &&
          std::holds_alternative<protocol::PutMail>(head->request.body)) {
        break;
      }
      const base::Bytes again = protocol::WriteMailHead(
          head->request, content, federation, by_site ? known.site.signing : known.coordinator);
      if (!std::ranges::equal(again, bytes.first(head->head_bytes))) std::abort();
      break;
    }
    case 1: {
      const auto letter = protocol::ReadLetter(bytes, known.coordinator.public_key());
      if (!letter.ok()) break;
      if (!std::ranges::equal(protocol::WriteLetter(*letter, known.coordinator), bytes)) {
        std::abort();
      }
      break;
    }
    case 2: {
      protocol::Letter letter;
      letter.enclosure_bytes = bytes.size();
      letter.enclosure = crypto::Sha256(bytes);
      (void)protocol::OpenEnclosure(bytes, letter, crypto::SecretBytes(32));
      break;
    }
    case 3: {
      static FuzzMailbox& mailbox = *new FuzzMailbox(known);
      mailbox.Give(bytes);
      break;
    }
    case 4: {
      const auto reply = protocol::ReadLetterReply(bytes, known.site.signing.public_key());
      if (!reply.ok()) break;
      if (!std::ranges::equal(protocol::WriteLetterReply(*reply, known.site.signing), bytes)) {
        std::abort();
      }
      break;
    }
    default:
      break;
  }
  return 0;
}

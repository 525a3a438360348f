// Writes the seeds of the mail fuzzer: run it when a format changes.
// usage: make_mail_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <string>

#include "fuzz/fuzz_federation.h"
#include "fuzz/seed_folder.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/mail_request.h"

namespace {

using namespace tacet;
using protocol::MailKind;

class MailSeeds {
 public:
  MailSeeds(const fuzz::FuzzFederation& known, const fuzz::SeedFolder& seeds)
      : known_(known), seeds_(seeds) {}

  void Write() const {
    const base::Bytes enclosure = protocol::SealEnclosure({.manifest = base::Bytes(20, 1),
                                                           .earlier = {base::Bytes(9, 2)},
                                                           .certificate = {},
                                                           .epoch_key = {},
                                                           .initial_model = base::Bytes(40, 3)},
                                                          {}, crypto::SecretBytes(32));
    seeds_.WriteWithVariants("enclosure", 2, enclosure);
    const base::Bytes letter = Letter(enclosure, 0), of_epoch_1 = Letter(enclosure, 1);
    seeds_.WriteWithVariants("letter", 1, letter);
    base::Bytes forged = letter;
    forged.back() ^= 1;
    seeds_.Write("letter-forged", 1, forged);
    const base::Bytes prekey =
        agreement::WriteEnrolmentRequest("north", {}, known_.site, known_.SiteExchangeKeys());
    const protocol::LetterReply asks{.federation = known_.manifest.manifest().federation(),
                                     .fields = {"query.floor"}};
    const base::Bytes reply = protocol::WriteLetterReply(asks, known_.site.signing);
    seeds_.WriteWithVariants("reply", 4, reply);
    // In an order in which a mailbox takes them.
    Put("put-1-enclosure", {.kind = MailKind::kEnclosure}, enclosure, known_.coordinator);
    Put("put-2-letter", ToSite(MailKind::kLetter), letter, known_.coordinator);
    Put("put-3-letter", ToSite(MailKind::kLetter), of_epoch_1, known_.coordinator);
    Put("put-4-prekey", ToSite(MailKind::kPrekey), prekey, known_.site.signing);
    Put("put-5-letter-by-site", ToSite(MailKind::kLetter), letter, known_.site.signing);
    Put("put-6-no-prekey", ToSite(MailKind::kPrekey), base::Bytes(50, 5), known_.site.signing);
    Put("put-7-reply", ToSite(MailKind::kReply), reply, known_.site.signing);
    Put("put-8-server", {.kind = MailKind::kServer}, base::Bytes(50, 6), known_.coordinator);
    Ask("fetch-served-epoch", protocol::FetchMail{.name = {.kind = MailKind::kServer}},
        known_.coordinator);
    for (const MailKind kind :
         {MailKind::kLetter, MailKind::kPrekey, MailKind::kReply, MailKind{9}}) {
      const std::string number = std::to_string(static_cast<int>(kind));
      Ask("fetch-" + number, protocol::FetchMail{.name = ToSite(kind)}, known_.site.signing);
      Ask("fetch-by-coordinator-" + number, protocol::FetchMail{.name = ToSite(kind), .offset = 3},
          known_.coordinator);
    }
    Ask("fetch-enclosure", protocol::FetchMail{.name = {.kind = MailKind::kEnclosure}},
        known_.site.signing);
    Ask("fetch-far", protocol::FetchMail{.name = ToSite(MailKind::kLetter), .offset = ~uint64_t{0}},
        known_.site.signing);
    Ask("fetch-enclosure-of-a-site", protocol::FetchMail{.name = ToSite(MailKind::kEnclosure)},
        known_.site.signing);
    Ask("drop",
        protocol::DropMail{.name = ToSite(MailKind::kLetter), .digest = crypto::Sha256(of_epoch_1)},
        known_.site.signing);
  }

 private:
  protocol::MailName ToSite(MailKind kind) const {
    return {.kind = kind, .site = known_.site.signing.public_key()};
  }
  base::Bytes Letter(const base::Bytes& enclosure, uint32_t epoch) const {
    return protocol::WriteLetter({.federation = known_.manifest.manifest().federation(),
                                  .site = known_.site.signing.public_key(),
                                  .epoch = epoch,
                                  .manifest_hash = {},
                                  .expires = fuzz::FuzzFederation::kNow + 10,
                                  .certificate = base::Bytes(30, 6),
                                  .epoch_key = base::Bytes(40, 7),
                                  .enclosure_bytes = enclosure.size(),
                                  .enclosure = crypto::Sha256(enclosure)},
                                 known_.coordinator);
  }
  void Put(const std::string& name, const protocol::MailName& mail, const base::Bytes& object,
           const crypto::SigningKey& key) const {
    base::Bytes whole =
        protocol::WriteMailHead({.sender = {},
                                 .time = fuzz::FuzzFederation::kNow,
                                 .body = protocol::PutMail{.name = mail,
                                                           .total = object.size(),
                                                           .digest = crypto::Sha256(object)}},
                                object, known_.manifest.manifest().federation(), key);
    whole.insert(whole.end(), object.begin(), object.end());
    seeds_.WriteWithVariants(name + "-head", 0, whole);
    seeds_.WriteWithVariants(name, 3, whole);
  }
  void Ask(const std::string& name, const protocol::MailBody& body,
           const crypto::SigningKey& key) const {
    const base::Bytes head =
        protocol::WriteMailHead({.sender = {}, .time = fuzz::FuzzFederation::kNow, .body = body},
                                {}, known_.manifest.manifest().federation(), key);
    seeds_.Write(name + "-head", 0, head);
    seeds_.WriteWithVariants(name, 3, head);
  }

  const fuzz::FuzzFederation& known_;
  const fuzz::SeedFolder& seeds_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_mail_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const fuzz::FuzzFederation known;
  const fuzz::SeedFolder seeds(std::filesystem::path(argv[1]) / "mail");
  MailSeeds(known, seeds).Write();
  return 0;
}

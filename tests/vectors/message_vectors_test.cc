// Messages of a small federation for other implementations: tests/vectors/messages.json, which has
// the keys, each message's bytes and the fields that a reader finds. All is computed again and
// compared with the file, but for keys and certificates on P-256, whose randomness is the system's:
// they are taken from it. TACET_WRITE_VECTORS=FOLDER writes a file with fresh ones there.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/pair_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/mail_request.h"
#include "tacet/protocol/objection.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/digest_key.h"
#include "tacet/secagg/partial_sum.h"
#include "tacet/secagg/sealer.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet {
namespace {

using base::JsonValue;
using base::ToHex;
using base::ValueOf;

constexpr uint64_t kTime = 1'760'000'000;
constexpr uint64_t kDimension = 3;
constexpr uint64_t kMembers = 3;
constexpr uint64_t kWriter = 1;  // the member that says most of what is in the file

JsonValue Numbers(const secagg::AttemptNumber& number) {
  return JsonValue::MakeObject()
      .Set("epoch", number.epoch)
      .Set("round", number.round)
      .Set("attempt", number.attempt);
}

JsonValue FieldsOf(const secagg::Attempt& attempt) {
  return Numbers(attempt.number)
      .Set("manifest_hash", ToHex(attempt.manifest_hash))
      .Set("model_digest", ToHex(attempt.model_digest));
}

JsonValue FieldsOf(const protocol::OpeningState& state) {
  return JsonValue::MakeObject()
      .Set("round", state.round)
      .Set("model_digest", ToHex(state.model_digest))
      .Set("state_digest", ToHex(state.state_digest));
}

// A site's secrets.
struct Site {
  agreement::MemberKeys keys;
  agreement::ExchangeKeys exchange;
};

// The values that no seed gives.
struct Stored {
  std::vector<agreement::MemberKeys> keys;
  base::Bytes authority, certificate;
};

class MessageVectors {
 public:
  explicit MessageVectors(Stored stored)
      : stored_(std::move(stored)),
        entropy_(1, "message vectors"),
        coordinator_(crypto::SigningKey::Generate(entropy_)),
        epoch_key_(entropy_.Draw(32)) {
    model_.salt.fill(5);
    model_.parameters = {1, -2, 0.5};
    for (agreement::MemberKeys& keys : stored_.keys) {
      sites_.push_back({std::move(keys), agreement::ExchangeKeys::Generate(entropy_)});
    }
    const agreement::SignedManifest first = Manifest(0, {});
    manifest_.emplace(Manifest(1, first.manifest().hash()));
    attempt_ = {.manifest_hash = manifest_->manifest().hash(),
                .number = {.epoch = 1, .round = 2, .attempt = 1}};
    attempt_.model_digest.fill(0x3a);
    Enrolment(first);
    Statements();
    Requests();
    Mail();
    PartialSum();
    Checkpoints();
    Bundles();
  }

  std::string Text() const {
    JsonValue sites = JsonValue::MakeArray();
    for (const Site& site : sites_) {
      sites.Append(
          JsonValue::MakeObject()
              .Set("identity", ToHex(agreement::WriteSiteKeys(site.keys).Expose()))
              .Set("exchange", ToHex(agreement::WriteExchangeKeys(site.exchange).Expose())));
    }
    return JsonValue::MakeObject()
               .Set("about",
                    "Messages of a federation of three members, with all secret keys: bytes, and "
                    "the fields that a reader finds (docs/formats). read_messages.py reads them.")
               .Set("coordinator_seed", ToHex(coordinator_.Seed().Expose()))
               .Set("epoch_key", ToHex(epoch_key_.Expose()))
               .Set("sites", std::move(sites))
               .Set("authority", ToHex(stored_.authority))
               .Set("certificate", ToHex(stored_.certificate))
               .Set("messages", messages_)
               .Dump(1) +
           "\n";
  }

 private:
  void Add(std::string_view name, const base::Bytes& bytes, JsonValue fields) {
    messages_.Append(JsonValue::MakeObject()
                         .Set("message", name)
                         .Set("fields", std::move(fields))
                         .Set("bytes", ToHex(bytes)));
  }

  const crypto::SigningKey& signing() const { return sites_[kWriter].keys.signing; }

  agreement::SignedManifest Manifest(uint32_t epoch, const crypto::Digest& predecessor) const {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.epoch = epoch;
    spec.predecessor = predecessor;
    spec.agreement.federation.fill(7);
    spec.agreement.model = "logistic";
    spec.agreement.dimension = kDimension;
    spec.agreement.initial_model = model_.Digest();
    spec.agreement.sampling.cohort = kMembers;
    spec.agreement.sampling.min_participants = 2;
    spec.agreement.rounds = 4;
    spec.agreement.spare_attempts = 3;
    spec.agreement.committee = {.seats = 3, .corrupt = 0};
    spec.agreement.committee_members = {2, 0, 1};
    spec.agreement.mechanism.scale = 1e-2;
    spec.agreement.mechanism.noise_stddev = 3;
    spec.annex = "learning_rate = 0.1\n";
    spec.server = {.name = "server",
                   .hosts = {"server.example", "192.0.2.1"},
                   .tls_key = sites_[0].keys.tls.public_key()};
    for (size_t i = 0; i < sites_.size(); ++i) {
      spec.members.push_back(agreement::SignMember(NameOf(i), sites_[i].keys.signing,
                                                   sites_[i].keys.sealing.public_key(),
                                                   sites_[i].exchange.public_keys()));
    }
    spec.authority = stored_.authority;
    return ValueOf(agreement::SignedManifest::Sign(std::move(spec), coordinator_));
  }
  static std::string NameOf(size_t member) { return "site-" + std::to_string(member); }

  void Enrolment(const agreement::SignedManifest& first) {
    const Site& site = sites_[kWriter];
    Add("enrolment request",
        agreement::WriteEnrolmentRequest(NameOf(kWriter), {}, site.keys,
                                         site.exchange.public_keys()),
        JsonValue::MakeObject().Set("name", NameOf(kWriter)));
    Add("signed manifest", manifest_->bytes(),
        JsonValue::MakeObject()
            .Set("federation", manifest_->federation())
            .Set("epoch", 1)
            .Set("predecessor", ToHex(first.manifest().hash()))
            .Set("manifest_hash", ToHex(manifest_->manifest().hash())));
    const base::Bytes sealed = ValueOf(agreement::EncryptEpochKey(
        *manifest_, kWriter, site.exchange.kem.public_key(), epoch_key_, coordinator_, entropy_));
    Add("encrypted epoch key", sealed, JsonValue::MakeObject().Set("member", kWriter));
    agreement::Invitation invitation{.manifest = manifest_->bytes(),
                                     .earlier = {first.bytes()},
                                     .certificate = stored_.certificate,
                                     .epoch_key = sealed,
                                     .initial_model = agreement::WriteInitialModel(model_)};
    const base::Bytes whole = agreement::WriteInvitation(invitation);
    Add("invitation", whole, JsonValue::MakeObject().Set("earlier", 1));
    invitation.certificate.clear();
    invitation.epoch_key.clear();
    const base::Bytes enclosure =
        protocol::SealEnclosure(invitation, manifest_->manifest().hash(), epoch_key_);
    Add("enclosure", enclosure,
        JsonValue::MakeObject().Set("invitation", ToHex(crypto::Sha256(whole))));
    const base::Bytes letter =
        protocol::WriteLetter({.federation = manifest_->manifest().federation(),
                               .site = site.keys.signing.public_key(),
                               .epoch = 1,
                               .manifest_hash = manifest_->manifest().hash(),
                               .expires = kTime + 1,
                               .certificate = stored_.certificate,
                               .epoch_key = sealed,
                               .enclosure_bytes = enclosure.size(),
                               .enclosure = crypto::Sha256(enclosure)},
                              coordinator_);
    Add("letter", letter,
        JsonValue::MakeObject()
            .Set("expires", kTime + 1)
            .Set("enclosure_bytes", enclosure.size())
            .Set("enclosure", ToHex(crypto::Sha256(enclosure))));
    protocol::LetterReply reply{.federation = manifest_->manifest().federation(),
                                .epoch = 1,
                                .manifest_hash = manifest_->manifest().hash(),
                                .certificate = crypto::Sha256(stored_.certificate),
                                .letter = crypto::Sha256(letter),
                                .joined = true};
    Add("letter reply, joined", protocol::WriteLetterReply(reply, signing()),
        JsonValue::MakeObject().Set("joined", true).Set("fields", JsonValue::MakeArray()));
    reply.joined = false;
    reply.fields = {"policy.serial", "privacy.epsilon_per_year"};
    JsonValue fields = JsonValue::MakeArray();
    for (const std::string& field : reply.fields) fields.Append(field);
    Add("letter reply, asks", protocol::WriteLetterReply(reply, signing()),
        JsonValue::MakeObject().Set("joined", false).Set("fields", std::move(fields)));
  }

  void Statements() {
    crypto::Digest state;
    state.fill(0x4b);
    const protocol::Attestation attestation{.member = kWriter,
                                            .round = 3,
                                            .model_digest = attempt_.model_digest,
                                            .state_digest = state};
    attestation_ = protocol::WriteAttestation(attestation, *manifest_, signing());
    Add("model attestation", attestation_,
        FieldsOf(protocol::OpeningState{3, attempt_.model_digest, state}).Set("member", kWriter));
    abstention_ = protocol::WriteAbstention(
        {.member = kWriter, .attempt = attempt_, .reason = protocol::AbstentionReason::kPolicy},
        signing());
    Add("abstention", abstention_, FieldsOf(attempt_).Set("member", kWriter).Set("reason", 2));
    objection_ = protocol::WriteObjection({.member = kWriter,
                                           .revision = 77,
                                           .attempt = attempt_.number,
                                           .reason = protocol::ObjectionReason::kNoClosedRound},
                                          *manifest_, signing());
    Add("objection", objection_,
        Numbers(attempt_.number).Set("member", kWriter).Set("revision", 77).Set("reason", 3));
    const protocol::OpeningState has{2, attempt_.model_digest, state};
    const protocol::OpeningState earlier{1, state, attempt_.model_digest};
    opening_ = protocol::WriteOpeningStatement(
        {.word = protocol::OpeningWord::kHas, .member = kWriter, .state = has, .earlier = earlier},
        *manifest_, signing());
    Add("opening statement, of a state", opening_,
        FieldsOf(has).Set("member", kWriter).Set("word", 1).Set("earlier", FieldsOf(earlier)));
    Add("opening statement, a vote",
        protocol::WriteOpeningStatement(
            {.word = protocol::OpeningWord::kVote, .member = kWriter, .state = has}, *manifest_,
            signing()),
        FieldsOf(has).Set("member", kWriter).Set("word", 2));
    const protocol::Announcement announcement{
        .manifest_hash = attempt_.manifest_hash,
        .epoch = 1,
        .revision = 78,
        .first_listed = 4,
        .listed = {{.epoch = 1, .round = 2, .attempt = 0}, attempt_.number},
        .current = protocol::AnnouncedAttempt{.attempt = attempt_,
                                              .phase = protocol::AttemptPhase::kUnmasking,
                                              .invited = protocol::Invited::kOwnCoin,
                                              .deadline = kTime,
                                              .participants = 3},
        .finished = 2,
        .kept = {attempt_},
        .stopped = false,
        .recalls = true};
    Add("announcement", protocol::WriteAnnouncement(announcement),
        JsonValue::MakeObject()
            .Set("epoch", 1)
            .Set("revision", 78)
            .Set("finished", 2)
            .Set("stopped", 0)
            .Set("recalls", 1)
            .Set("attempt", FieldsOf(attempt_))
            .Set("phase", 2)
            .Set("invited", 2)
            .Set("deadline", kTime)
            .Set("participants", 3)
            .Set("kept", JsonValue::MakeArray().Append(FieldsOf(attempt_)))
            .Set("first_listed", 4)
            .Set("listed", JsonValue::MakeArray()
                               .Append(Numbers(announcement.listed[0]))
                               .Append(Numbers(announcement.listed[1]))));
    Add("announcement, before the first attempt",
        protocol::WriteAnnouncement(
            {.manifest_hash = attempt_.manifest_hash, .epoch = 1, .revision = 1}),
        JsonValue::MakeObject()
            .Set("epoch", 1)
            .Set("revision", 1)
            .Set("finished", 0)
            .Set("stopped", 0)
            .Set("recalls", 0)
            .Set("kept", JsonValue::MakeArray())
            .Set("first_listed", 0)
            .Set("listed", JsonValue::MakeArray()));
  }

  void Request(protocol::RequestBody body, JsonValue fields) {
    const protocol::MemberRequest request{
        .member = kWriter, .time = kTime, .body = std::move(body)};
    const auto kind = static_cast<uint64_t>(request.body.index() + 1);
    const base::Bytes bytes = protocol::WriteMemberRequest(request, *manifest_, signing());
    if (request_.empty()) request_ = bytes;
    Add("member request, " + std::string(protocol::RequestKindName(request.body.index())), bytes,
        fields.Set("kind", kind).Set("member", kWriter).Set("time", kTime));
  }

  // One of each kind, in the order of the kinds.
  void Requests() {
    const base::Bytes part = {1, 2, 3, 4, 5};
    const JsonValue attempt = JsonValue::MakeObject().Set("attempt", FieldsOf(attempt_));
    const auto with = [&](std::string_view key, JsonValue value) {
      return JsonValue(attempt).Set(key, std::move(value));
    };
    const auto blob = [](const base::Bytes& bytes) {
      return JsonValue::MakeObject().Set("blob", ToHex(bytes));
    };
    Request(protocol::AwaitRequest{.known_revision = 78, .listed_from = 6, .unmasking = true},
            JsonValue::MakeObject().Set("known", 78).Set("listed_from", 6).Set("unmasking", 1));
    Request(protocol::PutPartRequest{.name = {protocol::BulkKind::kUpload, attempt_},
                                     .total = 12,
                                     .digest = crypto::Sha256(abstention_),
                                     .offset = 7,
                                     .part = part},
            with("object", 1)
                .Set("total", 12)
                .Set("digest", ToHex(crypto::Sha256(abstention_)))
                .Set("offset", 7)
                .Set("part", ToHex(part)));
    Request(
        protocol::FetchPartRequest{
            .name = {protocol::BulkKind::kClosedRound, attempt_}, .index = 0, .offset = 2097152},
        with("object", 2).Set("index", 0).Set("offset", 2097152));
    Request(protocol::PutVoteRequest{.attempt = attempt_, .vote = part}, with("blob", ToHex(part)));
    Request(protocol::FetchVotesRequest{.attempt = attempt_}, attempt);
    Request(protocol::PutVerdictRequest{.attempt = attempt_, .confirmed = true},
            with("confirmed", 1));
    Request(protocol::PutAttestationRequest{.attestation = attestation_}, blob(attestation_));
    Request(protocol::FetchAttestationsRequest{.round = 3},
            JsonValue::MakeObject().Set("round", 3));
    Request(protocol::PutOpeningRequest{.statement = opening_}, blob(opening_));
    Request(protocol::FetchOpeningRequest{}, JsonValue::MakeObject());
    Request(protocol::PutAbstentionRequest{.abstention = abstention_}, blob(abstention_));
    Request(protocol::PutObjectionRequest{.objection = objection_}, blob(objection_));
    Request(protocol::FetchPacketsRequest{.attempt = attempt_, .from = 2}, with("from", 2));
    static_assert(protocol::kRequestKinds == 13, "one line each, above");
  }

  void MailRequest(protocol::MailBody body, const base::Bytes& content,
                   const crypto::SigningKey& sender, JsonValue fields) {
    const protocol::MailRequest request{
        .sender = sender.public_key(), .time = kTime, .body = std::move(body)};
    base::Bytes bytes =
        protocol::WriteMailHead(request, content, manifest_->manifest().federation(), sender);
    bytes.insert(bytes.end(), content.begin(), content.end());
    Add("mail request, " + std::string(protocol::MailRequestName(request.body.index())), bytes,
        fields.Set("kind", static_cast<uint64_t>(request.body.index() + 1)).Set("time", kTime));
  }

  void Mail() {
    const base::Bytes content = {9, 8, 7};
    const crypto::Digest digest = crypto::Sha256(content);
    const protocol::MailName letter{protocol::MailKind::kLetter, signing().public_key()};
    MailRequest(
        protocol::PutMail{
            .name = {protocol::MailKind::kEnclosure, {}}, .total = 3, .digest = digest},
        content, coordinator_,
        JsonValue::MakeObject()
            .Set("mail", 2)
            .Set("site", ToHex(crypto::PublicKey{}))
            .Set("total", 3)
            .Set("digest", ToHex(digest))
            .Set("offset", 0)
            .Set("part", ToHex(content)));
    const auto of_letter = [&] {
      return JsonValue::MakeObject().Set("mail", 1).Set("site", ToHex(letter.site));
    };
    MailRequest(protocol::FetchMail{.name = letter, .offset = 0}, {}, signing(),
                of_letter().Set("offset", 0));
    MailRequest(protocol::DropMail{.name = letter, .digest = digest}, {}, signing(),
                of_letter().Set("digest", ToHex(digest)));
  }

  // For the uploads of members 0 and 2.
  void PartialSum() {
    const secagg::Terms& terms = manifest_->manifest().terms();
    const auto keys =
        secagg::DeriveAttemptKeys(epoch_key_, manifest_->manifest().spec().scheme, attempt_);
    secagg::Aggregator aggregator(terms.aggregation(), attempt_, 0);
    JsonValue uploads = JsonValue::MakeArray();
    for (const uint64_t member : {uint64_t{0}, uint64_t{2}}) {
      const auto pairs = ValueOf(
          agreement::KeysWithSeats(manifest_->manifest(),
                                   {.exchange_key = sites_[member].exchange.exchange,
                                    .kem_key = sites_[member].exchange.kem,
                                    .epoch_key = epoch_key_,
                                    .epoch = 1},
                                   member, manifest_->seat_keys(), sites_[member].keys.signing));
      const auto sealer = ValueOf(secagg::Sealer::Create(terms, attempt_, keys));
      const std::vector<float> update(kDimension, 0.01F);
      const secagg::SealedUpload sealed = ValueOf(sealer->Seal(update, pairs.pair_keys, entropy_));
      ASSERT_TRUE(aggregator.Submit(member, sealed.bytes).ok());
      uploads.Append(
          JsonValue::MakeObject().Set("participant", member).Set("nonce", ToHex(sealed.nonce)));
    }
    Add("partial sum", ValueOf(aggregator.ClosePartial()),
        JsonValue::MakeObject()
            .Set("attempt", FieldsOf(attempt_))
            .Set("scheme", 1)
            .Set("dimension", kDimension)
            .Set("uploads", std::move(uploads))
            .Set("aggregated_ciphertext_bytes", terms.aggregation().aggregated_ciphertext_bytes()));
  }

  void Checkpoints() {
    const protocol::Checkpoint checkpoint{.federation = manifest_->manifest().federation(),
                                          .training = 0,
                                          .next_round = 2,
                                          .model = {1.5, -2.5, 0.25},
                                          .velocity = {}};
    const auto fields = [] {
      return JsonValue::MakeObject()
          .Set("training", 0)
          .Set("next_round", 2)
          .Set("model", JsonValue::MakeArray().Append(1.5).Append(-2.5).Append(0.25));
    };
    Add("checkpoint", protocol::WriteCheckpoint(checkpoint), fields());
    const auto key = secagg::DigestKey::OfEpoch(epoch_key_, manifest_->manifest().spec().scheme,
                                                manifest_->manifest().hash(), 1);
    const crypto::Digest digest = protocol::DigestsOf(checkpoint, key).model;
    Add("encrypted checkpoint",
        protocol::SealCheckpoint(checkpoint, digest, manifest_->manifest(), 1, kWriter, epoch_key_),
        fields().Set("writer", kWriter).Set("model_digest", ToHex(digest)));
  }

  void Bundles() {
    Add("bundle of requests", transport::relay::WriteRequests(std::array{request_}),
        JsonValue::MakeObject().Set("requests", JsonValue::MakeArray().Append(ToHex(request_))));
    const base::Bytes answer = {6, 5};
    const crypto::Digest asked = crypto::Sha256(request_);
    Add("bundle of answers",
        transport::relay::WriteAnswers(
            std::vector<transport::relay::RelayedAnswer>{
                {.request = asked, .answer = answer},
                {.request = asked, .answer = absl::NotFoundError("no")}},
            std::vector<transport::relay::PushedAnswer>{{.question = asked, .answer = answer}}),
        JsonValue::MakeObject()
            .Set("codes", JsonValue::MakeArray().Append(0).Append(5))
            .Set("answers", JsonValue::MakeArray().Append("0605").Append("6e6f"))
            .Set("pushed", JsonValue::MakeArray().Append("0605")));
  }

  Stored stored_;
  crypto::InsecureSeededEntropy entropy_;
  crypto::SigningKey coordinator_;
  crypto::SecretBytes epoch_key_;
  agreement::InitialModel model_;
  std::vector<Site> sites_;
  std::optional<agreement::SignedManifest> manifest_;
  secagg::Attempt attempt_;
  base::Bytes attestation_, abstention_, objection_, opening_, request_;
  JsonValue messages_ = JsonValue::MakeArray();
};

Stored Fresh() {
  Stored stored;
  crypto::InsecureSeededEntropy entropy(2, "message vectors");
  for (uint64_t i = 0; i < kMembers; ++i) {
    stored.keys.push_back(agreement::MemberKeys::Generate(entropy));
  }
  const crypto::TlsKey authority = crypto::TlsKey::Generate();
  stored.authority = crypto::AuthorityOf(authority);
  stored.certificate =
      ValueOf(crypto::IssueCertificate({.common_name = "site-1",
                                        .role = crypto::CertificateRole::kClient,
                                        .public_key = stored.keys[kWriter].tls.public_key(),
                                        .hosts = {},
                                        .not_before = 1'750'000'000,
                                        .not_after = 1'760'000'000},
                                       authority, stored.authority));
  return stored;
}

Stored Of(const JsonValue& vectors) {
  const auto bytes = [](const JsonValue& object, std::string_view key) {
    return ValueOf(base::FromHex(ValueOf(object.Find(key)->AsString())));
  };
  Stored stored;
  for (const JsonValue& site : vectors.Find("sites")->items()) {
    stored.keys.push_back(
        ValueOf(agreement::ReadSiteKeys(crypto::SecretBytes::CopyOf(bytes(site, "identity")))));
  }
  stored.authority = bytes(vectors, "authority");
  stored.certificate = bytes(vectors, "certificate");
  return stored;
}

TEST(MessageVectorsTest, EveryMessage) {
  if (const char* const folder = std::getenv("TACET_WRITE_VECTORS"); folder != nullptr) {
    std::ofstream(std::string(folder) + "/messages.json") << MessageVectors(Fresh()).Text();
    return;
  }
  std::ifstream file(TACET_SOURCE_DIR "/tests/vectors/messages.json");
  const std::string expected((std::istreambuf_iterator<char>(file)), {});
  const std::string text = MessageVectors(Of(ValueOf(JsonValue::Parse(expected)))).Text();
  EXPECT_TRUE(text == expected) << "messages.json does not hold what is computed; to compare, run "
                                   "with TACET_WRITE_VECTORS=FOLDER";
}

}  // namespace
}  // namespace tacet

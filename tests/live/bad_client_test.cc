// Clients that send uploads with wrong shares, a wrong MAC or a wrong payload, to an honest server
// and honest members.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/he/aggregation.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/server/initial_attestations_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::ExactAgreement;
using testing::FixedUpdates;
using ::testing::HasSubstr;
using testing::LiveFederation;
using ::testing::Not;

constexpr uint64_t kBad = 5;

class BadClientTest : public ::testing::Test {
 protected:
  // Alters what the client sealed before it is sent.
  static void Spoil(LiveFederation& live, const std::function<void(base::Bytes&)>& spoil) {
    live.site(kBad).state.spoil_upload = [spoil](base::Bytes& upload) {
      spoil(upload);
      secagg::testing::FixChecksum(upload);
    };
  }
  // The first word of what an upload has for the committee's seat `seat`, one of the last n - f.
  static size_t ShareFor(const LiveFederation& live, uint32_t seat, const base::Bytes& upload) {
    const he::KeySharing& sharing = live.members.terms().aggregation().sharing();
    constexpr size_t kChecksum = 16;
    const size_t shares = upload.size() - kChecksum - sharing.share_bytes();
    return shares + 2 * sharing.mask_words() * (seat - sharing.shape().corrupt);
  }
  // The client signs a packet whose ciphertexts for `seats` are not those that it keeps the secrets
  // of. A later one is not taken, and it continues as if it had been.
  static void SendPacketWithBad(LiveFederation& live, const std::set<uint32_t>& seats) {
    const agreement::SignedManifest& manifest = live.members.manifest();
    const size_t all = live.members.committee().size();
    secagg::KeyPacket packet = protocol::testing::ValueOf(
        secagg::ReadKeyPacket(live.members.KeysWithSeats(kBad).packet, all));
    for (const uint32_t seat : seats) {
      packet.ciphertexts[seat][7] ^= 1;
      packet.hashes[seat] = crypto::Sha256(packet.ciphertexts[seat]);
    }
    secagg::SignKeyPacket(live.members.site(kBad).signing, packet);
    const absl::Status given =
        server::testing::GivePacket(*live.server, kBad, manifest, secagg::WriteKeyPacket(packet));
    ASSERT_TRUE(given.ok()) << given;
    live.site(kBad).wire.lie = [](const protocol::RequestBody& body,
                                  absl::StatusOr<base::Bytes> answer) {
      const auto* const put = std::get_if<protocol::PutPartRequest>(&body);
      const bool packet_again = put != nullptr && put->name.kind == protocol::BulkKind::kKeyPacket;
      return packet_again ? protocol::WriteArrived(put->total) : std::move(answer);
    };
  }
  static std::set<uint64_t> UploadersOf(const LiveFederation& live,
                                        const secagg::AttemptNumber& number) {
    std::set<uint64_t> uploaders;
    for (const auto& site : live.sites) {
      if (site->said.contains(fmt::format("upload {}/{}", number.round, number.attempt))) {
        uploaders.insert(site->number);
      }
    }
    return uploaders;
  }
  static std::vector<std::string> TextsOf(const LiveFederation::Site& site,
                                          const std::string& violation) {
    std::vector<std::string> texts;
    for (const member::NodeEvent& event : site.log.events()) {
      if (event.kind == member::NodeEventKind::kViolation && event.what == violation) {
        texts.push_back(event.text);
      }
    }
    return texts;
  }
};

agreement::ManifestSpec EightOfNine() {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.sampling.cohort = 8;
  spec.sampling.min_participants = 3;
  spec.spare_attempts = 30;
  return spec;
}

// Wrong shares put their sender in dispute. The round continues without it, at its full size, and
// with an exact sum. The next round invites it again. Each attempt is charged once.
TEST_F(BadClientTest, WithWrongSharesIsLeftOutOfTheRound) {
  LiveFederation live(EightOfNine(), 3, 9);
  Spoil(live, [&live](base::Bytes& upload) {
    for (const uint32_t seat : {1, 2, 3, 4}) upload[ShareFor(live, seat, upload)] ^= 1;
  });
  live.Run();
  live.ExpectNobodySpokeTwice();
  size_t named = 0;
  std::vector<double> model(protocol::testing::kSmallDimension);
  for (const server::AttemptRecord& record : live.server->Attempts()) {
    const secagg::AttemptNumber& number = record.attempt.number;
    const std::set<uint64_t> uploaders = UploadersOf(live, number);
    if (uploaders.contains(kBad)) {
      EXPECT_EQ(record.phase, protocol::AttemptPhase::kFailed);
      EXPECT_EQ(record.failure, "disputed-shares");
      EXPECT_EQ(number.attempt, 0u) << number.round;
      ++named;
      continue;
    }
    EXPECT_EQ(record.phase, protocol::AttemptPhase::kPublished);
    EXPECT_GE(uploaders.size(), 7u);  // of the eight that were drawn
    for (size_t i = 0; i < model.size(); ++i) {
      for (const uint64_t member : uploaders) {
        model[i] +=
            FixedUpdates::Value(member, number.round, i) / static_cast<double>(uploaders.size());
      }
    }
  }
  EXPECT_GE(named, 2u);
  EXPECT_THAT(live.server->Status().left_out, ::testing::IsEmpty());
  for (const auto& site : live.sites) {
    EXPECT_EQ(site->session->next_round(), 3u) << site->number;
    EXPECT_EQ(site->ledger->entries().size(), live.server->Status().attempts);
    for (size_t i = 0; i < model.size(); ++i) {
      ASSERT_NEAR(site->session->model()[i], model[i], 3e-3) << site->number << ", " << i;
    }
  }
}

// The same by its key packet: bad ciphertexts, and so another list than its own, give seats other
// masks of this client than it has itself. No other upload suffers.
TEST_F(BadClientTest, WithBadCiphertextsHasWrongShares) {
  LiveFederation live(EightOfNine(), 3, 9);
  SendPacketWithBad(live, {1, 2, 3, 4});
  live.Run();
  live.ExpectNobodySpokeTwice();
  size_t with_bad = 0;
  for (const server::AttemptRecord& record : live.server->Attempts()) {
    const bool has_bad = UploadersOf(live, record.attempt.number).contains(kBad);
    with_bad += has_bad ? 1 : 0;
    EXPECT_EQ(record.failure, has_bad ? "disputed-shares" : "");
  }
  EXPECT_GE(with_bad, 1u);
  for (const auto& site : live.sites) EXPECT_EQ(site->session->next_round(), 3u) << site->number;
}

// A wrong MAC or payload names nobody. Smaller cohorts follow until one is without the bad client,
// whose sum is exact. Each attempt is charged once.
TEST_F(BadClientTest, IsIsolatedByHalving) {
  for (const std::string what : {"the MAC", "the payload"}) {
    SCOPED_TRACE(what);
    LiveFederation live(EightOfNine(), 3, 9);
    const size_t at = what == "the MAC"
                          ? secagg::testing::UploadTagByte(live.members.terms().aggregation())
                          : secagg::testing::kUploadCiphertext + 5;
    Spoil(live, [at](base::Bytes& upload) { upload[at] ^= 0x20; });
    live.Run();
    live.ExpectNobodySpokeTwice();

    size_t refused = 0;
    std::vector<double> model(protocol::testing::kSmallDimension);
    std::map<uint32_t, uint32_t> size;  // of the last cohort, by round
    for (const server::AttemptRecord& record : live.server->Attempts()) {
      const secagg::AttemptNumber& number = record.attempt.number;
      const std::set<uint64_t> uploaders = UploadersOf(live, number);
      const auto [expected, is_first] = size.try_emplace(number.round, 8);
      if (!is_first) expected->second = std::max(expected->second / 2, 3u);
      EXPECT_EQ(uploaders.size(), expected->second);
      if (uploaders.contains(kBad)) {
        EXPECT_EQ(record.phase, protocol::AttemptPhase::kFailed);
        EXPECT_EQ(record.failure, "refused");
        ++refused;
        continue;
      }
      EXPECT_EQ(record.phase, protocol::AttemptPhase::kPublished);
      for (size_t i = 0; i < model.size(); ++i) {
        for (const uint64_t member : uploaders) {
          model[i] +=
              FixedUpdates::Value(member, number.round, i) / static_cast<double>(uploaders.size());
        }
      }
    }
    EXPECT_GE(refused, 1u);
    for (const auto& site : live.sites) {
      EXPECT_EQ(site->session->next_round(), 3u) << site->number;
      EXPECT_EQ(site->ledger->entries().size(), live.server->Status().attempts);
      for (size_t i = 0; i < model.size(); ++i) {
        ASSERT_NEAR(site->session->model()[i], model[i], 3e-3) << site->number << ", " << i;
      }
      EXPECT_THAT(
          TextsOf(*site, "unsound-sum"),
          Each(AllOf(HasSubstr("a participant"), HasSubstr("server"), Not(HasSubstr("site-")))));
    }
  }
}

// Everybody uploads, and K_min is one fewer: the defaults of a training. A wrong MAC names nobody,
// and another attempt has the same participants. So members are on trial in turn. Who is left out
// of a refused sum has not spoiled it. The last suspect is left out, and no other member is left
// out of a published round.
TEST_F(BadClientTest, IsFoundByTrialsWhereEverybodyUploads) {
  for (const bool hidden : {false, true}) {
    SCOPED_TRACE(hidden);
    agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
    spec.sampling.cohort = hidden ? 3 : 7;
    spec.sampling.dummy_uploads = hidden;
    if (hidden) spec.sampling.method = accounting::Sampling::kPoisson;
    spec.sampling.min_participants = 6;
    spec.rounds = 7;
    spec.spare_attempts = 10;
    LiveFederation live(
        ExactAgreement(protocol::testing::AgreementWith(2, {0, 1, 2, 3, 4, 5, 6}, spec)), 3, 7);
    const size_t at = secagg::testing::UploadTagByte(live.members.terms().aggregation());
    Spoil(live, [at](base::Bytes& upload) { upload[at] ^= 0x20; });
    std::set<uint64_t> left_out;
    live.between = [&] {
      for (const uint64_t member : live.server->Status().left_out) left_out.insert(member);
      if (live.server->Attempts().size() % 3 == 1) live.RestartServer();  // it remembers
    };
    live.Run();
    live.ExpectNobodySpokeTwice();
    EXPECT_THAT(left_out, ::testing::ElementsAre(kBad));
    std::map<uint32_t, int> attempts;
    for (const server::AttemptRecord& record : live.server->Attempts()) {
      ++attempts[record.attempt.number.round];
      const bool has_bad =
          UploadersOf(live, record.attempt.number).contains(kBad) && record.participants == 7;
      EXPECT_TRUE(!has_bad || record.phase == protocol::AttemptPhase::kFailed);
    }
    // In round 0 until it is the sixth member's turn, in round 1 until the seventh is cleared.
    EXPECT_THAT(attempts, ::testing::ElementsAre(std::pair(0, 7), std::pair(1, 3), std::pair(2, 1),
                                                 std::pair(3, 1), std::pair(4, 1), std::pair(5, 1),
                                                 std::pair(6, 1)));
    for (const auto& site : live.sites) {
      EXPECT_EQ(site->session->next_round(), 7u) << site->number;
      EXPECT_EQ(site->session->model(), live.sites.front()->session->model());
    }
  }
}

// Wrong shares for one seat look like a wrong answer of that seat. The sum is exact, and the text
// does not blame the seat alone. Of five seats of which two may be corrupt, only the MAC tells
// which answer is wrong.
TEST_F(BadClientTest, AShareForOneSeatIsCorrectedAndMayBeAParticipantsFault) {
  constexpr uint32_t kSeat = 4;
  agreement::ManifestSpec all = protocol::testing::SmallAgreement();
  all.sampling.cohort = 9;
  for (const std::vector<uint64_t>& seats :
       {std::vector<uint64_t>{7, 0, 4, 2, 8, 1, 5}, std::vector<uint64_t>{7, 0, 4, 2, 8}}) {
    SCOPED_TRACE(seats.size());
    LiveFederation live(ExactAgreement(protocol::testing::AgreementWith(2, seats, all)), 3, 9);
    Spoil(live, [&live](base::Bytes& upload) { upload[ShareFor(live, kSeat, upload)] ^= 1; });
    live.Run();
    live.ExpectModels(3, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(live.server->Status().attempts, 3u);
    for (const auto& site : live.sites) {
      const std::vector<std::string> texts = TextsOf(*site, "wrong-share");
      EXPECT_EQ(texts.size(), 3u) << site->number;
      EXPECT_THAT(texts, Each(AllOf(HasSubstr(fmt::format("of site-{} does", live.MemberOn(kSeat))),
                                    HasSubstr("or a participant sent a wrong share for it"))));
    }
  }
}

// A wrong MAC, while one seat of five is absent. The four unmask shares determine a sum that is
// unsound, and the fifth could show that one of them is wrong. Seats wait for it for one deadline,
// then they refuse the sum. They waited as long as the fifth was absent: a week at most.
TEST_F(BadClientTest, WithAWrongMacIsRefusedAtTheFirstDeadlineWhileASeatIsAway) {
  agreement::ManifestSpec all = protocol::testing::SmallAgreement();
  all.sampling.cohort = 9;
  all.sampling.min_participants = 8;
  LiveFederation live(ExactAgreement(protocol::testing::AgreementWith(2, {7, 0, 4, 2, 8}, all)), 3,
                      9);
  live.site(7).away = true;
  const size_t at = secagg::testing::UploadTagByte(live.members.terms().aggregation());
  Spoil(live, [at](base::Bytes& upload) { upload[at] ^= 0x20; });
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); });
  const uint64_t closed = live.now;
  live.RunUntil([&] { return live.server->Status().failed == 1; });
  EXPECT_GE(live.now - closed, live.options.unmasking_seconds);
  EXPECT_LE(live.now - closed, live.options.unmasking_seconds + 10);
  EXPECT_EQ(live.server->Attempts().front().failure, "refused");
  size_t refused = 0;
  for (const uint64_t seat : {0, 2, 4, 8}) {
    const std::vector<std::string> texts = TextsOf(live.site(seat), "unsound-sum");
    EXPECT_THAT(texts, Each(HasSubstr("the MAC does not fit the sum")));
    refused += texts.size();
  }
  EXPECT_GE(refused, 3u);  // f + 1
}

}  // namespace
}  // namespace tacet::live

// Rounds of a federation as they pass a proxy of its server, and the model that follows from them.
#ifndef TACET_TESTS_INTEGRATION_RECORDED_ROUNDS_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_RECORDED_ROUNDS_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/base/float_bytes.h"
#include "tacet/member/member_model.h"
#include "tacet/member/memory_member_state.h"
#include "tacet/protocol/wire.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/whole_messages_for_test.h"
#include "tacet/storage/file/site_folder.h"
#include "tests/integration/lying_proxy_for_test.h"

namespace tacet::app {

// Objects that come in one part each, as those of small models do. Not thread-safe.
class RecordedRounds {
 public:
  using Number = std::pair<uint32_t, uint32_t>;  // round, attempt
  static Number NumberOf(const secagg::Attempt& attempt) {
    return {attempt.number.round, attempt.number.attempt};
  }

  // A request and what the server really answered to it. A server that was killed may have taken
  // what it did not acknowledge.
  void Keep(const Overheard& request, const Answered& answer) {
    const auto attempt = AttemptNamedBy(request.body);
    if (!attempt.has_value()) return;
    const Number number = NumberOf(*attempt);
    if (const auto* vote = std::get_if<protocol::PutVoteRequest>(&request.body)) {
      votes_[number].push_back(vote->vote);
    } else if (const auto* part = std::get_if<protocol::PutPartRequest>(&request.body)) {
      if (part->part.size() != part->total) return;
      if (part->name.kind == protocol::BulkKind::kUpload) {
        std::vector<base::Bytes>& uploads = uploads_[number][request.member];
        if (std::ranges::find(uploads, part->part) == uploads.end()) uploads.push_back(part->part);
        if (answer.ok()) acknowledged_[number].insert(request.member);
      } else if (part->name.kind == protocol::BulkKind::kUnmaskShare) {
        shares_[number].push_back(part->part);
      }
    } else if (const auto* verdict = std::get_if<protocol::PutVerdictRequest>(&request.body)) {
      const bool taken = answer.ok() || protocol::IsRetryable(answer.status());
      if (!taken || !verdict->confirmed) return;
      // No other attempt begins once one was published.
      const auto [published, is_new] = published_.emplace(attempt->number.round, *attempt);
      if (!is_new && published->second.number.attempt < attempt->number.attempt) {
        published->second = *attempt;
      }
      if (answer.ok()) confirmed_[number].insert(request.member);
    } else if (const auto* fetch = std::get_if<protocol::FetchPartRequest>(&request.body)) {
      if (!answer.ok() || fetch->name.kind != protocol::BulkKind::kClosedRound) return;
      const auto closed = protocol::ReadFetchedPart(*answer)->part;
      closed_[number].assign(closed.begin(), closed.end());
    }
  }

  // Somebody's upload to an attempt, and somebody's first unmask share of all.
  std::pair<uint64_t, base::Bytes> AnUpload(const secagg::Attempt& attempt) const {
    const auto& [member, uploads] = *uploads_.at(NumberOf(attempt)).begin();
    return {member, uploads.front()};
  }
  const base::Bytes& FirstShare() const { return shares_.begin()->second.front(); }

  void ExpectNothingSealedTwice() const {
    for (const auto& [number, by_member] : uploads_) {
      for (const auto& [member, uploads] : by_member) {
        EXPECT_EQ(uploads.size(), 1u)
            << "member " << member << " sealed twice for " << number.first << "/" << number.second;
      }
    }
  }

  // An attempt that enough seats confirmed is the last one of its round. The server may have been
  // killed between a confirmation and its answer; another attempt would still have to begin.
  void ExpectNothingPublishedTwice(size_t confirmations) const {
    std::map<uint32_t, std::set<uint32_t>> attempts;
    for (const auto& [number, seats] : confirmed_) {
      if (seats.size() >= confirmations) attempts[number.first].insert(number.second);
    }
    for (const auto& [round, published] : attempts) {
      EXPECT_EQ(published.size(), 1u) << "round " << round << " was published twice";
      for (const auto& [number, uploads] : uploads_) {
        if (number.first == round) {
          EXPECT_LE(number.second, *published.begin())
              << "round " << round << " went on with another attempt after it was published";
        }
      }
    }
  }

  // The closed round of some uploads of an attempt, with no list of key packets in its roster.
  static base::Bytes CloseWith(const agreement::Manifest& agreed, const secagg::Attempt& attempt,
                               const std::map<uint64_t, base::Bytes>& uploads) {
    secagg::Aggregator sum(agreed.terms().aggregation(), attempt, 1);
    for (const auto& [member, upload] : uploads) EXPECT_TRUE(sum.Submit(member, upload).ok());
    crypto::SystemEntropy salts;
    return sum.Close(salts, [](uint64_t) { return crypto::Digest{}; })->closed_round;
  }

  // The model of a member that saw no lie, after `rounds` rounds. Every sum in it is that of the
  // uploads that the server acknowledged, of each of them once, and of nothing that nobody sent.
  std::string Model(const OpenedSite& site, const std::filesystem::path& home,
                    uint32_t rounds) const {
    const agreement::Manifest& agreed = site.joined.manifest.manifest();
    const auto& params = agreed.terms().aggregation();
    member::MemoryMemberState state;
    auto model = *member::MemberModel::Load(
        agreed,
        secagg::DigestKey::OfEpoch(site.epoch_key, agreed.spec().scheme, agreed.hash(),
                                   site.joined.manifest.epoch()),
        *storage::file::SiteFolder::Open(home)->InitialModel(), state);
    for (const auto& [round, attempt] : published_) {
      SCOPED_TRACE(round);
      const Number number = NumberOf(attempt);
      const base::Bytes& bytes = closed_.at(number);
      const auto closed = secagg::ReadClosedRound(bytes, attempt, params, 1);
      ExpectExact(agreed, attempt, *closed);
      const auto decrypted = secagg::DecryptRound(
          agreed.terms(), agreed.committee(), attempt,
          secagg::DeriveAttemptKeys(site.epoch_key, params.scheme(), attempt),
          {.closed_round = bytes, .votes = votes_.at(number), .unmask_shares = shares_.at(number)});
      EXPECT_TRUE(decrypted.ok()) << decrypted.status();
      if (!decrypted.ok()) return "";
      EXPECT_EQ(decrypted->aggregate.participants, closed->nonces.size());
      EXPECT_TRUE(model.Apply(decrypted->aggregate).ok());
    }
    EXPECT_EQ(model.next_round(), rounds);
    return std::string(base::AsText(base::FloatBytes(model.checkpoint().model)));
  }

 private:
  void ExpectExact(const agreement::Manifest& agreed, const secagg::Attempt& attempt,
                   const secagg::ClosedRound& closed) const {
    const auto& params = agreed.terms().aggregation();
    const Number number = NumberOf(attempt);
    std::map<uint64_t, base::Bytes> in_sum;
    for (const auto& [member, uploads] : uploads_.at(number)) {
      for (const base::Bytes& upload : uploads) {
        const secagg::SealNonce nonce = secagg::ReadUpload(upload, attempt, params)->nonce;
        if (std::ranges::binary_search(closed.nonces, nonce)) in_sum[member] = upload;
      }
    }
    // None where the server was killed with all of them taken and no answer given.
    if (const auto acknowledged = acknowledged_.find(number); acknowledged != acknowledged_.end()) {
      for (const uint64_t member : acknowledged->second) {
        EXPECT_TRUE(in_sum.contains(member)) << "the upload of " << member << " was lost";
      }
    }
    const base::Bytes again_bytes = CloseWith(agreed, attempt, in_sum);
    const auto again = secagg::ReadClosedRound(again_bytes, attempt, params, 1);
    EXPECT_EQ(closed.nonces, again->nonces);
    EXPECT_EQ(closed.aggregated_ciphertext, again->aggregated_ciphertext);
  }

  std::map<Number, std::map<uint64_t, std::vector<base::Bytes>>> uploads_;  // by member, all unlike
  std::map<Number, std::set<uint64_t>> acknowledged_;
  std::map<Number, base::Bytes> closed_;
  std::map<Number, std::vector<base::Bytes>> votes_, shares_;
  std::map<Number, std::set<uint64_t>> confirmed_;  // by members, acknowledged
  std::map<uint32_t, secagg::Attempt> published_;   // by round; perhaps not acknowledged
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_RECORDED_ROUNDS_FOR_TEST_H_

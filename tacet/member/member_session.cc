#include "tacet/member/member_session.h"

#include <utility>
#include <variant>

#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"

namespace tacet::member {
namespace {

absl::StatusOr<std::optional<MemberMemory>> LoadMemory(const MemberState& state) {
  const absl::StatusOr<base::Bytes> kept = state.LoadMemory();
  if (kept.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(kept.status());
  TACET_ASSIGN_OR_RETURN(MemberMemory memory, ReadMemberMemory(*kept));
  return memory;
}

absl::Status CheckPermission(const MemberParts& parts) {
  if (parts.permission.manifest_hash() != parts.manifest.manifest().hash()) {
    return base::FailedPrecondition("the site's policy was asked about another manifest");
  }
  if (!parts.permission.year().has_value() || parts.permission.year() == parts.ledger.year()) {
    return absl::OkStatus();
  }
  return base::FailedPrecondition(
      "the ledger of the population \"{}\" does not keep the budget of the site's policy",
      parts.ledger.header().population);
}

// What a member remembers of an earlier training of the federation says nothing about this one.
std::optional<MemberMemory> OfTraining(std::optional<MemberMemory> memory, uint32_t training) {
  if (memory.has_value() && memory->attempt.number.epoch < training) memory.reset();
  return memory;
}

// The state goes on under a later epoch or the same manifest. An older manifest would lead back to
// members that were removed.
absl::Status CheckEpoch(const agreement::SignedManifest& manifest,
                        const std::optional<MemberMemory>& memory) {
  if (!memory.has_value()) return absl::OkStatus();
  const uint32_t epoch = memory->attempt.number.epoch;
  const crypto::Digest& hash = memory->attempt.manifest_hash;
  if (epoch > manifest.epoch()) {
    return base::FailedPrecondition(
        "this site has taken part in epoch {} of {}, and the manifest is of epoch {}: join the "
        "latest epoch with its invitation",
        epoch, manifest.federation(), manifest.epoch());
  }
  const bool is_other = (epoch == manifest.epoch() && hash != manifest.manifest().hash()) ||
                        (epoch + 1 == manifest.epoch() && hash != manifest.predecessor());
  if (!is_other) return absl::OkStatus();
  return base::FailedPrecondition(
      "this site has taken part in epoch {} of {} under another manifest than the one at hand, or "
      "than its predecessor: two manifests were signed for that epoch. Ask the coordinating member",
      epoch, manifest.federation());
}

// An update is sealed after its attempt was charged, or after the charge was refused. A ledger that
// knows of neither is older than the state.
absl::Status CheckLedgerKnows(const MemberParts& parts, const std::optional<MemberMemory>& memory) {
  if (!memory.has_value() || memory->participation != Participation::kYes) return absl::OkStatus();
  const secagg::Attempt& attempt = memory->attempt;
  const absl::Status sealed = parts.state.LoadUpload(attempt).status();
  if (sealed.code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(sealed);
  if (parts.ledger.Knows({.manifest_hash = attempt.manifest_hash, .number = attempt.number})) {
    return absl::OkStatus();
  }
  return base::DataLoss(
      "this site has sealed an update for round {} attempt {} of epoch {}, and the ledger of the "
      "population \"{}\" does not know that attempt: it is an older one; put back the ledger that "
      "was charged last",
      attempt.number.round, attempt.number.attempt, attempt.number.epoch,
      parts.ledger.header().population);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemberSession>> MemberSession::Create(
    const MemberParts& parts, const agreement::InitialModel& initial_model) {
  const std::vector<agreement::ManifestMember>& members = parts.manifest.members();
  if (parts.member >= members.size() ||
      members[parts.member].signing_key != parts.signing_key.public_key() ||
      members[parts.member].exchange_key != parts.exchange_key.public_key()) {
    return base::InvalidArgument("this site's keys are not those of member {} of {}", parts.member,
                                 parts.manifest.federation());
  }
  TACET_RETURN_IF_ERROR(CheckPermission(parts));
  TACET_RETURN_IF_ERROR(ledger::CheckRuleFits(parts.manifest.manifest().spec(), parts.rule));
  TACET_ASSIGN_OR_RETURN(MemberModel model,
                         MemberModel::Load(parts.manifest.manifest(), parts.digest_key(),
                                           initial_model, parts.state, parts.checkpoints));
  TACET_ASSIGN_OR_RETURN(std::optional<MemberMemory> memory, LoadMemory(parts.state));
  TACET_RETURN_IF_ERROR(CheckEpoch(parts.manifest, memory));
  TACET_RETURN_IF_ERROR(CheckLedgerKnows(parts, memory));
  TACET_RETURN_IF_ERROR(parts.ledger.CheckMember(CostOf(parts)));
  return std::unique_ptr<MemberSession>(new MemberSession(
      parts, std::move(model), OfTraining(std::move(memory), parts.manifest.training())));
}

MemberSession::MemberSession(const MemberParts& parts, MemberModel model,
                             std::optional<MemberMemory> memory)
    : parts_(parts),
      notes_(parts.log),
      model_(std::move(model)),
      machine_(parts_.manifest, parts_.member,
               {.next_round = model_.next_round(), .digests = model_.digests()}, std::move(memory),
               parts_.clock()),
      opening_(parts_, notes_, model_),
      states_(parts_, notes_, model_),
      statements_(parts_, notes_, model_),
      uploads_(parts_, model_),
      seat_(parts_, notes_, uploads_) {}

absl::StatusOr<Progress> MemberSession::Step() {
  Event event = event::Begin{};
  while (true) {
    const Reaction reaction = machine_.On(event, parts_.clock());
    absl::Status noted;
    for (const Reaction::Note& note : reaction.notes) {
      noted.Update(notes_.Write(note.event, note.index));
    }
    if (!noted.ok()) {
      event = event::Failed{noted};
      continue;
    }
    if (const auto* end = std::get_if<action::EndStep>(&reaction.action)) {
      uploads_.Forget();
      return end->result;
    }
    absl::StatusOr<Event> next = Perform(reaction.action);
    event = next.ok() ? *std::move(next) : event::Failed{next.status()};
  }
}

absl::StatusOr<Event> MemberSession::Perform(const Action& action) {
  struct Performer {
    MemberSession& self;
    absl::StatusOr<Event> operator()(const action::EndStep&) const { return event::Done{}; }
    absl::StatusOr<Event> operator()(const action::AwaitAnnouncement& action) const {
      return self.Await(action);
    }
    absl::StatusOr<Event> operator()(const action::SaveMemory& action) const {
      TACET_RETURN_IF_ERROR(self.parts_.state.SaveMemory(WriteMemberMemory(action.memory)));
      return event::Done{};
    }
    absl::StatusOr<Event> operator()(const action::KeepOnly& action) const {
      TACET_RETURN_IF_ERROR(self.parts_.state.KeepOnly(action.number));
      return event::Done{};
    }
    absl::StatusOr<Event> operator()(const action::TossCoin&) const {
      const accounting::SamplingParams& sampling = self.parts_.manifest.manifest().spec().sampling;
      crypto::Random coin = crypto::Random::FromEntropy(self.parts_.entropy);
      return event::CoinTossed{coin.Below(sampling.clients) < sampling.cohort};
    }
    absl::StatusOr<Event> operator()(const OpeningAction& action) const {
      return self.opening_.Do(action);
    }
    absl::StatusOr<Event> operator()(const StateAction& action) const {
      return self.states_.Do(action);
    }
    absl::StatusOr<Event> operator()(const StatementAction& action) const {
      return self.statements_.Do(action);
    }
    absl::StatusOr<Event> operator()(const UploadAction& action) const {
      return self.uploads_.Do(action);
    }
    absl::StatusOr<Event> operator()(const SeatAction& action) const {
      return self.seat_.Do(action);
    }
  };
  return std::visit(Performer{*this}, action);
}

absl::StatusOr<Event> MemberSession::Await(const action::AwaitAnnouncement& action) {
  absl::StatusOr<protocol::Announcement> told =
      parts_.server.Await({.known_revision = action.known_revision,
                           .listed_from = action.listed_from,
                           .unmasking = action.unmasking});
  if (told.ok()) {
    return event::Announced{std::make_shared<const protocol::Announcement>(*std::move(told))};
  }
  const absl::Status& why = told.status();
  const bool is_of_other_time = why.code() == absl::StatusCode::kAborted;
  if (protocol::IsPermanent(why) || (protocol::IsRetryable(why) && !is_of_other_time)) return why;
  return event::NotAnnounced{.unreadable = why.code() == absl::StatusCode::kDataLoss,
                             .why = base::Message(why)};
}

absl::StatusOr<std::vector<base::Bytes>> MemberSession::FetchAttestations() const {
  TACET_ASSIGN_OR_RETURN(std::vector<base::Bytes> all,
                         parts_.server.FetchAttestations(model_.next_round()));
  std::erase_if(all, [this](const base::Bytes& bytes) {
    const absl::StatusOr<protocol::Attestation> attestation =
        protocol::ReadAttestation(bytes, parts_.manifest);
    return !attestation.ok() || attestation->member == parts_.member ||
           attestation->round != model_.next_round();
  });
  return all;
}

absl::StatusOr<std::vector<protocol::SignedAbstention>> MemberSession::FetchAbstentions() const {
  const std::optional<MemberMemory>& memory = machine_.situation().memory;
  if (!memory.has_value() || memory->attempt.number.epoch != parts_.manifest.epoch()) {
    return std::vector<protocol::SignedAbstention>();
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> given,
                         parts_.server.FetchVotes(memory->attempt));
  return protocol::AbstentionsAmong(given, memory->attempt, parts_.manifest);
}

}  // namespace tacet::member

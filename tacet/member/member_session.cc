#include "tacet/member/member_session.h"

#include <utility>
#include <variant>

#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"

namespace tacet::member {
namespace {

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

}  // namespace

absl::StatusOr<std::unique_ptr<MemberSession>> MemberSession::Create(
    const MemberParts& parts, const agreement::InitialModel& initial_model) {
  const std::vector<agreement::ManifestMember>& members = parts.manifest.members();
  if (parts.member >= members.size() ||
      members[parts.member].signing_key != parts.signing_key.public_key() ||
      members[parts.member].exchange_key != parts.exchange_keys.exchange.public_key()) {
    return base::InvalidArgument("this site's keys are not those of member {} of {}", parts.member,
                                 parts.manifest.federation());
  }
  TACET_RETURN_IF_ERROR(CheckPermission(parts));
  TACET_RETURN_IF_ERROR(ledger::CheckRuleFits(parts.manifest.manifest().spec(), parts.rule));
  absl::StatusOr<KeptState> kept = ReadKeptState(parts);
  const bool keeps_model = !kept.ok() || !kept->forgets_model;
  TACET_ASSIGN_OR_RETURN(
      MemberModel model,
      MemberModel::Load(parts.manifest.manifest(), parts.digest_key(), initial_model, parts.state,
                        keeps_model, parts.checkpoints));
  TACET_RETURN_IF_ERROR(kept.status());
  TACET_RETURN_IF_ERROR(parts.ledger.CheckMember(CostOf(parts)));
  const std::vector<NodeEvent> notes = std::move(kept->notes);
  auto session =
      std::unique_ptr<MemberSession>(new MemberSession(parts, std::move(model), *std::move(kept)));
  for (const NodeEvent& note : notes) TACET_RETURN_IF_ERROR(session->notes_.Write(note));
  return session;
}

MemberSession::MemberSession(const MemberParts& parts, MemberModel model, KeptState kept)
    : parts_(parts),
      notes_(parts.log),
      model_(std::move(model)),
      machine_(parts_.manifest, parts_.member,
               {.next_round = model_.next_round(), .digests = model_.digests()},
               std::move(kept.memory), parts_.clock(), std::move(kept.past)),
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
      if (action.anchored) self.seat_.Hear(action.memory.attempt);
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

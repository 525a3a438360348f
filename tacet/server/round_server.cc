#include "tacet/server/round_server.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tacet/agreement/pair_keys.h"
#include "tacet/base/status.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/server/lost_objects.h"
#include "tacet/server/round_answers.h"
#include "tacet/server/round_objects.h"

namespace tacet::server {
namespace {

ObjectArrived OfferOf(uint64_t member, const protocol::PutPartRequest& request) {
  return {.member = member, .name = request.name, .total = request.total, .digest = request.digest};
}

// Objects that are read as one, in memory.
class JoinedObjects : public BlobReader {
 public:
  explicit JoinedObjects(base::Bytes bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  absl::Status Read(uint64_t offset, std::span<uint8_t> out) override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return base::OutOfRange("{} bytes from byte {} of {}", out.size(), offset, bytes_.size());
    }
    std::ranges::copy(std::span(bytes_).subspan(offset, out.size()), out.begin());
    return absl::OkStatus();
  }

 private:
  base::Bytes bytes_;
};

absl::StatusOr<std::unique_ptr<BlobReader>> OpenAll(const BlobStore& blobs,
                                                    std::span<const BlobKey> keys) {
  if (keys.size() == 1) return blobs.Open(keys.front());
  base::Bytes all;
  for (const BlobKey& key : keys) {
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> one, blobs.Open(key));
    const size_t before = all.size();
    all.resize(before + one->size());
    TACET_RETURN_IF_ERROR(one->Read(0, std::span(all).subspan(before)));
  }
  return std::make_unique<JoinedObjects>(std::move(all));
}

// All of an object that came in one part and was completed a moment ago, until the next call on
// this thread. Memory that the system must clear first would cost more than reading does.
absl::StatusOr<std::span<const uint8_t>> ReadUnchecked(const BlobStore& blobs, const BlobKey& key) {
  thread_local base::Bytes buffer;  // of a part's size at most
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> object, blobs.Open(key));
  if (buffer.size() < object->size()) buffer.resize(object->size());
  const auto whole = std::span(buffer).first(object->size());
  TACET_RETURN_IF_ERROR(object->Read(0, whole));
  return whole;
}

// `roster` is that of the attempt whose key packets are asked for.
struct Lister {
  const RoundState& state;
  const RoundStore& store;
  std::span<const uint8_t> roster;

  using Result = absl::StatusOr<std::vector<base::Bytes>>;
  Result operator()(const PacketsForSeat& packets) const {
    TACET_ASSIGN_OR_RETURN(const PacketsToGive given, PacketsToGiveTo(state, packets, roster));
    const size_t seats = state.rules->committee().size();
    std::vector<base::Bytes> copies;
    if (given.members.empty()) return copies;
    copies.reserve(given.members.size());
    TACET_RETURN_IF_ERROR(
        store.ForEachPacket(given.members.front(), given.members.back(),
                            [&](uint64_t member, std::span<const uint8_t> packet) {
                              if (!std::ranges::binary_search(given.members, member)) return;
                              copies.push_back(secagg::CopyForSeat(packet, seats, given.seat));
                            }));
    if (copies.size() == given.members.size()) return copies;
    return base::NotFound("{} of {} key packets are not in the store any more",
                          given.members.size() - copies.size(), given.members.size());
  }
  template <typename One>
  Result operator()(const One& one) const {
    return List(state, one);
  }
};

}  // namespace

RoundServer::RoundServer(std::shared_ptr<const RoundRules> rules, ServerStore& store,
                         BlobStore& blobs, base::UnixClock clock, crypto::Entropy& cohorts)
    : manifest_(rules->manifest()),
      blobs_(blobs),
      clock_(std::move(clock)),
      attendance_(rules->members(), clock_()),
      state_{.rules = rules},
      runner_(rules->manifest(), rules->options().kept_rounds, store, blobs, cohorts) {
  // Begins anywhere, so that a server that was restarted has a notification for everybody.
  state_.revision = state_.phase_revision = base::LoadU64(cohorts.Draw(8).Expose().data());
}

absl::StatusOr<std::unique_ptr<RoundServer>> RoundServer::Create(
    const agreement::SignedManifest& manifest, const RoundServerOptions& options,
    ServerStore& store, BlobStore& blobs, base::UnixClock clock, crypto::Entropy& cohorts) {
  TACET_RETURN_IF_ERROR(CheckOptions(options));
  TACET_RETURN_IF_ERROR(store.Claim(manifest.manifest().federation()));
  std::unique_ptr<RoundServer> server(
      new RoundServer(std::make_shared<const RoundRules>(manifest, options), store, blobs,
                      std::move(clock), cohorts));
  const base::MutexLock lock(server->mutex_);
  TACET_RETURN_IF_ERROR(server->Load());
  return server;
}

// When it ends, it tells without the lock.
class ABSL_SCOPED_LOCKABLE RoundServer::Change {
 public:
  explicit Change(RoundServer& server) ABSL_EXCLUSIVE_LOCK_FUNCTION(server.mutex_)
      : server_(server) {
    server_.mutex_.Lock();
    before_ = server_.state_.revision;
  }
  ~Change() ABSL_UNLOCK_FUNCTION() {
    const bool changed = server_.state_.revision != before_;
    server_.mutex_.Unlock();
    if (!changed) return;
    const base::MutexLock lock(server_.news_mutex_);
    if (server_.news_) server_.news_();
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  RoundServer& server_;
  uint64_t before_;
};

void RoundServer::OnNotification(std::function<void()> news) {
  const base::MutexLock lock(news_mutex_);
  news_ = std::move(news);
}

absl::StatusOr<bool> RoundServer::Advance(const Event& first) {
  bool acted = false;
  for (std::optional<Event> event = first; event.has_value();) {
    TACET_ASSIGN_OR_RETURN(Step step,
                           Next(state_, {.now = clock_(), .attendance = attendance_}, *event));
    // Nobody but its own giver decides about an object that is on its way; uploads are too late
    // when there is a sweep.
    std::vector<BlobKey> arriving;
    for (const auto& [member, giving] : giving_) {
      const std::shared_ptr<const BlobKey> key = giving.lock();
      if (key != nullptr && key->name.kind != protocol::BulkKind::kUpload) arriving.push_back(*key);
    }
    event.reset();
    for (const Action& action : step.actions) {
      TACET_ASSIGN_OR_RETURN(std::optional<Event> answer, runner_.Run(action, arriving));
      if (answer.has_value()) event = std::move(answer);
      acted = true;
    }
    state_ = std::move(step.next);
  }
  return acted;
}

absl::Status RoundServer::Run(const Event& event) {
  TACET_RETURN_IF_ERROR(runner_.store().CheckFresh());
  TACET_ASSIGN_OR_RETURN(bool acted, Advance(event));
  while (acted) {
    TACET_ASSIGN_OR_RETURN(acted, Advance(Continue()));
  }
  return absl::OkStatus();
}

absl::Status RoundServer::Load() {
  TACET_ASSIGN_OR_RETURN(StoreRead read, runner_.Read());
  TACET_RETURN_IF_ERROR(Advance(std::move(read)).status());
  runner_.store().SetFresh();
  return absl::OkStatus();
}

absl::Status RoundServer::Tick() {
  const Change change(*this);
  if (!runner_.store().CheckFresh().ok()) TACET_RETURN_IF_ERROR(Load());
  // The work that an earlier process or a failed call left.
  bool acted = true;
  while (acted) {
    TACET_ASSIGN_OR_RETURN(acted, Advance(Continue()));
  }
  return Run(TimePassed());
}

void RoundServer::NotePresence(uint64_t member, std::optional<RefusedFor> refused, int64_t ahead) {
  const base::MutexLock lock(mutex_);
  if (refused.has_value()) {
    attendance_.NoteRefused({.member = member, .why = *refused, .ahead = ahead}, clock_());
  } else {
    attendance_.Note(member, clock_());
  }
}

void RoundServer::Obey(const OperatorEvent& asked) {
  const base::MutexLock lock(mutex_);
  const auto advance = [this](const auto& event) {
    mutex_.AssertHeld();
    (void)Advance(event);  // without actions
  };
  std::visit(advance, asked);
}

bool RoundServer::Idle() const {
  const base::MutexLock lock(mutex_);
  return OpenAttempt(state_) == nullptr && (state_.draining || StageOf<Stopped>(state_) != nullptr);
}

absl::StatusOr<protocol::Announcement> RoundServer::AnnouncementFor(uint64_t member,
                                                                    uint64_t listed_from,
                                                                    bool unmasking) const {
  const base::MutexLock lock(mutex_);
  TACET_RETURN_IF_ERROR(runner_.store().CheckFresh());
  return AnnouncementOf(state_, member, listed_from, unmasking);
}

bool RoundServer::IsNews(const protocol::AwaitRequest& request) const {
  const base::MutexLock lock(mutex_);
  return request.known_revision != (request.unmasking ? state_.revision : state_.phase_revision);
}

absl::Status RoundServer::Take(uint64_t member, const Statement& statement) {
  // Signatures are verified without the lock.
  TACET_ASSIGN_OR_RETURN(const Event event, ReadStatement(manifest_, member, statement));
  const Change change(*this);
  return Run(event);
}

absl::StatusOr<std::vector<base::Bytes>> RoundServer::Listed(const StatementList& list) const {
  const auto* const packets = std::get_if<PacketsForSeat>(&list);
  base::Bytes roster;
  if (packets != nullptr) {
    TACET_ASSIGN_OR_RETURN(const ObjectPart part,
                           OpenPart(packets->member, {.name = {protocol::BulkKind::kRoster,
                                                               packets->request.attempt}}));
    roster.resize(part.object->size());
    TACET_RETURN_IF_ERROR(part.object->Read(0, roster));
  }
  const base::MutexLock lock(mutex_);
  TACET_RETURN_IF_ERROR(runner_.store().CheckFresh());
  return std::visit(Lister{state_, runner_.store(), roster}, list);
}

absl::StatusOr<std::unique_ptr<IncomingPart>> RoundServer::BeginPart(
    uint64_t member, const protocol::PutPartRequest& request, size_t part_bytes) {
  const BlobKey key = GivenKeyOf(request.name, member);
  std::unique_ptr<IncomingPart> part(new IncomingPart(*this, member, request));
  {
    const base::MutexLock lock(mutex_);
    TACET_RETURN_IF_ERROR(runner_.store().CheckFresh());
    TACET_ASSIGN_OR_RETURN(const Offer offer, CheckOffer(state_, OfferOf(member, request)));
    if (offer == Offer::kAccepted) {
      part->arrived_ = request.total;
      return part;
    }
    if (!giving_[member].expired()) {
      return base::ResourceExhausted("another part of this member is being taken");
    }
    giving_[member] = part->giving_ = std::make_shared<const BlobKey>(key);
  }
  TACET_ASSIGN_OR_RETURN(part->arrived_, blobs_.Arrived(key, request.digest));
  const uint64_t arrived = part->arrived_;
  if (request.offset <= arrived && part_bytes <= arrived - request.offset) return part;
  if (request.offset != arrived || part_bytes > request.total - arrived) {
    return base::OutOfRange("{}: {} bytes at {}, {} of {} have arrived",
                            protocol::BulkKindName(request.name.kind), part_bytes, request.offset,
                            arrived, request.total);
  }
  TACET_ASSIGN_OR_RETURN(part->writer_, blobs_.Begin(key, request.digest, arrived));
  part->arrived_ += part_bytes;
  return part;
}

absl::StatusOr<uint64_t> RoundServer::AcceptWhole(uint64_t member,
                                                  const protocol::PutPartRequest& request,
                                                  bool is_checked) {
  const BlobKey key = GivenKeyOf(request.name, member);
  ObjectArrived arrived = OfferOf(member, request);
  base::Bytes complete;
  if (is_checked) {
    TACET_RETURN_IF_ERROR(blobs_.CompleteUnread(key, request.digest));
    TACET_ASSIGN_OR_RETURN(arrived.whole, ReadUnchecked(blobs_, key));
  } else {
    TACET_ASSIGN_OR_RETURN(complete, blobs_.Complete(key, request.digest));
    arrived.whole = complete;
  }
  if (request.name.kind == protocol::BulkKind::kKeyPacket) {
    TACET_RETURN_IF_ERROR(
        agreement::CheckKeyPacket(manifest_.manifest(), manifest_.epoch(), member, arrived.whole));
  }
  const Change change(*this);
  TACET_RETURN_IF_ERROR(runner_.store().CheckFresh());
  // Things may have changed while the bytes were written.
  TACET_ASSIGN_OR_RETURN(const Offer offer, CheckOffer(state_, arrived));
  // Something may have been swept away with an attempt that ended meanwhile.
  if (offer == Offer::kWanted && !blobs_.Open(key).ok()) {
    return base::Unavailable("{}: it is not kept any more, to be sent again",
                             protocol::BulkKindName(request.name.kind));
  }
  TACET_RETURN_IF_ERROR(Run(arrived));
  return request.total;
}

size_t RoundServer::LargestPart(uint64_t member) const {
  const base::MutexLock lock(mutex_);
  return server::LargestPart(state_, member);
}

absl::StatusOr<ObjectPart> RoundServer::OpenPart(uint64_t member,
                                                 const protocol::FetchPartRequest& request) const {
  std::vector<BlobKey> keys;
  {
    const base::MutexLock lock(mutex_);
    TACET_RETURN_IF_ERROR(runner_.store().CheckFresh());
    TACET_ASSIGN_OR_RETURN(keys, FindObject(state_, member, request));
  }
  ObjectPart part{.object = nullptr, .offset = request.offset};
  TACET_ASSIGN_OR_RETURN(part.object, OpenAll(blobs_, keys));
  const uint64_t size = part.object->size();
  if (request.offset > size) {
    return base::OutOfRange("byte {} of an object of {} bytes", request.offset, size);
  }
  part.bytes =
      static_cast<size_t>(std::min<uint64_t>(protocol::kMaxPartBytes, size - request.offset));
  return part;
}

ServerStatus RoundServer::Status() const {
  const base::MutexLock lock(mutex_);
  return StatusOf(state_, {.now = clock_(), .attendance = attendance_});
}

std::vector<AttemptRecord> RoundServer::Attempts() const {
  const base::MutexLock lock(mutex_);
  return *state_.attempts;
}

}  // namespace tacet::server

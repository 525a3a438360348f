#include "tacet/server/mailbox.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tacet/agreement/member_keys.h"
#include "tacet/base/status.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/member_request.h"

namespace tacet::server {
namespace {

using protocol::MailKind;
using protocol::MailName;

// The blob store holds mail alone, so its names need the site and the kind of mail only.
BlobKey MailKey(const MailName& name) {
  BlobKey key;
  key.name.attempt.manifest_hash = name.site;
  key.member = static_cast<uint8_t>(name.kind);
  return key;
}

constexpr MailName kTheEnclosure{.kind = MailKind::kEnclosure};
constexpr MailName kServerInvitation{.kind = MailKind::kServer};

// Reads a copy only where the store says that it is there. A damaged one, which would be in the way
// of the same bytes, is forgotten.
absl::StatusOr<bool> HasWhole(BlobStore& blobs, const BlobKey& key, const crypto::Digest& digest) {
  TACET_ASSIGN_OR_RETURN(const bool is_held, blobs.Holds(key, digest));
  if (!is_held) return false;
  const absl::Status whole = blobs.Complete(key, digest).status();
  if (whole.code() == absl::StatusCode::kDataLoss) return false;
  TACET_RETURN_IF_ERROR(whole);
  return true;
}

}  // namespace

absl::Status IncomingMail::Write(std::span<const uint8_t> bytes) {
  if (bytes.size() > head_.content_bytes - content_.size()) {
    return base::DataLoss("mail request: more content follows than its head announces");
  }
  content_.insert(content_.end(), bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::StatusOr<RequestAnswer> IncomingMail::Finish() {
  const auto take = [&]() -> absl::StatusOr<RequestAnswer> {
    if (content_.size() != head_.content_bytes ||
        crypto::Sha256(content_) != head_.content_digest) {
      return base::DataLoss("mail request: its content is not the one that its sender signed");
    }
    TACET_ASSIGN_OR_RETURN(const uint64_t arrived,
                           mailbox_.Put(std::get<protocol::PutMail>(head_.request.body), content_));
    return RequestAnswer{.head = protocol::WriteArrived(arrived)};
  };
  return mailbox_.Account(head_.request, sender_, request_bytes_, take());
}

Mailbox::Mailbox(const agreement::SignedManifest& manifest, BlobStore& blobs, RequestLimits& limits,
                 RequestObserver& observer, base::UnixClock clock, Progress progress)
    : manifest_(manifest),
      limits_(limits),
      observer_(observer),
      clock_(std::move(clock)),
      blobs_(blobs),
      hooks_{std::move(progress)} {}

absl::StatusOr<std::unique_ptr<Mailbox>> Mailbox::Open(const agreement::SignedManifest& manifest,
                                                       BlobStore& blobs, RequestLimits& limits,
                                                       RequestObserver& observer,
                                                       base::UnixClock clock, Progress progress) {
  std::unique_ptr<Mailbox> mailbox(
      new Mailbox(manifest, blobs, limits, observer, std::move(clock), std::move(progress)));
  const base::MutexLock lock(mailbox->mutex_);
  for (const agreement::ManifestMember& member : manifest.members()) {
    mailbox->unread_.insert(member.signing_key);
  }
  mailbox->Load();
  mailbox->LoadPrekeys();
  TACET_RETURN_IF_ERROR(mailbox->Sweep());
  return mailbox;
}

absl::StatusOr<Mailbox::Kept> Mailbox::ReadKept(const crypto::PublicKey& site) const {
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> reader,
                         blobs_.Open(MailKey({.kind = MailKind::kLetter, .site = site})));
  if (reader->size() > protocol::kMaxLetterBytes) return base::DataLoss("letter: it is too large");
  base::Bytes bytes(reader->size());
  TACET_RETURN_IF_ERROR(reader->Read(0, bytes));
  TACET_ASSIGN_OR_RETURN(protocol::Letter letter,
                         protocol::ReadLetter(bytes, manifest_.coordinator()));
  return Kept{.letter = std::move(letter), .digest = crypto::Sha256(bytes)};
}

// A damaged letter, or one of an epoch that has ended, is left out, and the sweep forgets it: the
// training does not wait for mail. One that a failing disk does not give now is kept.
void Mailbox::Load() {
  for (const crypto::PublicKey& site : std::exchange(unread_, {})) {
    absl::StatusOr<Kept> kept = ReadKept(site);
    if (kept.status().code() == absl::StatusCode::kUnavailable) unread_.insert(site);
    if (kept.ok() && kept->letter.epoch >= manifest_.epoch()) letters_[site] = *std::move(kept);
  }
}

// One that cannot be read counts as missing until its site leaves it again.
void Mailbox::LoadPrekeys() {
  for (const agreement::ManifestMember& member : manifest_.members()) {
    const auto reader =
        blobs_.Open(MailKey({.kind = MailKind::kPrekey, .site = member.signing_key}));
    if (!reader.ok() || (*reader)->size() > protocol::kMaxLetterBytes) continue;
    base::Bytes bytes((*reader)->size());
    if (!(*reader)->Read(0, bytes).ok()) continue;
    const absl::StatusOr<agreement::EnrolmentRequest> asked =
        agreement::ReadEnrolmentRequest(bytes);
    if (asked.ok()) prekeys_[member.signing_key] = asked->exchange_keys.exchange;
  }
}

MailStatus Mailbox::Status() const {
  const base::MutexLock lock(mutex_);
  MailStatus status;
  const uint64_t now = clock_();
  for (uint64_t number = 0; number < manifest_.members().size(); ++number) {
    const agreement::ManifestMember& member = manifest_.members()[number];
    const auto letter = letters_.find(member.signing_key);
    if (letter != letters_.end() && letter->second.letter.expires > now) {
      const uint64_t expires = letter->second.letter.expires;
      const uint64_t left = expires - std::min(expires, protocol::kLetterSeconds);
      status.letters.push_back({.member = number, .since = std::min(left, now)});
      continue;
    }
    const auto prekey = prekeys_.find(member.signing_key);
    if (prekey == prekeys_.end() || prekey->second == member.exchange_key) {
      status.without_prekey.push_back(number);
    }
  }
  if (prekeys_.empty()) status.without_prekey.clear();
  return status;
}

absl::Status Mailbox::Sweep() {
  const uint64_t now = clock_();
  std::erase_if(letters_, [now](const auto& entry) { return entry.second.letter.expires <= now; });
  std::vector<BlobKey> kept;
  for (const auto& [site, letter] : letters_) {
    kept.push_back(MailKey({.kind = MailKind::kLetter, .site = site}));
  }
  for (const crypto::PublicKey& site : unread_) {
    kept.push_back(MailKey({.kind = MailKind::kLetter, .site = site}));
  }
  if (!letters_.empty() || !unread_.empty() || enclosure_alone_)
    kept.push_back(MailKey(kTheEnclosure));
  if (invitation_arrives_) kept.push_back(MailKey(kServerInvitation));
  for (const agreement::ManifestMember& member : manifest_.members()) {
    for (const MailKind kind : {MailKind::kPrekey, MailKind::kReply}) {
      kept.push_back(MailKey({.kind = kind, .site = member.signing_key}));
    }
  }
  return blobs_.KeepOnly(kept);
}

absl::Status Mailbox::ForgetExpired() {
  const base::MutexLock lock(mutex_);
  Load();
  return Sweep();
}

absl::StatusOr<uint64_t> Mailbox::Admit(const protocol::MailHead& head, size_t total,
                                        std::optional<std::string_view> certificate_name) const {
  const protocol::MailRequest& request = head.request;
  TACET_RETURN_IF_ERROR(protocol::CheckRequestTime(request.time, clock_()));
  if (total - head.head_bytes != head.content_bytes) {
    return base::DataLoss("mail request: {} bytes follow its head, which says {}",
                          total - head.head_bytes, head.content_bytes);
  }
  uint64_t sender = manifest_.members().size();
  std::string_view name = protocol::kCoordinatorName;
  if (request.sender != manifest_.coordinator()) {
    const std::optional<uint64_t> member = manifest_.MemberWith(request.sender);
    if (!member.has_value()) {
      return base::PermissionDenied("mail request: its sender is no member in epoch {}",
                                    manifest_.epoch());
    }
    sender = *member;
    name = manifest_.members()[sender].name;
  }
  if (certificate_name.has_value() && *certificate_name != name) {
    return base::PermissionDenied("mail request: signed by {}, sent under the certificate of {}",
                                  name, *certificate_name);
  }
  if (sender < manifest_.members().size()) TACET_RETURN_IF_ERROR(limits_.Admit(sender, total));
  return sender;
}

// Letters go from the coordinator to their site, enclosures from it to all, the server's invitation
// from it to the server; prekeys and replies go to it.
absl::Status Mailbox::CheckMay(const protocol::MailRequest& request, uint64_t sender) const {
  const MailName& name =
      std::visit([](const auto& body) -> const MailName& { return body.name; }, request.body);
  const bool is_coordinator = sender == manifest_.members().size();
  if (std::holds_alternative<protocol::PutMail>(request.body)) {
    const bool is_of_site = name.kind == MailKind::kPrekey || name.kind == MailKind::kReply;
    if (is_of_site ? is_coordinator || name.site != request.sender : !is_coordinator) {
      return base::PermissionDenied("mail request: this mail is not for its sender to put");
    }
    if (name.kind == MailKind::kLetter && !manifest_.MemberWith(name.site).has_value()) {
      return base::NotFound("no site with this key is a member in epoch {}", manifest_.epoch());
    }
    return absl::OkStatus();
  }
  const bool is_drop = std::holds_alternative<protocol::DropMail>(request.body);
  const bool may = name.kind == MailKind::kLetter      ? name.site == request.sender
                   : name.kind == MailKind::kEnclosure ? !is_coordinator && !is_drop
                                                       : is_coordinator && !is_drop;
  if (may) return absl::OkStatus();
  return base::PermissionDenied("mail request: this mail is not for its sender");
}

absl::StatusOr<BegunMail> Mailbox::Begin(std::span<const uint8_t> first, size_t total,
                                         std::optional<std::string_view> certificate_name) {
  const auto read = [&]() -> absl::StatusOr<std::pair<protocol::MailHead, uint64_t>> {
    TACET_ASSIGN_OR_RETURN(protocol::MailHead head,
                           protocol::ReadMailHead(first, manifest_.manifest().federation()));
    TACET_ASSIGN_OR_RETURN(const uint64_t sender, Admit(head, total, certificate_name));
    return std::pair(std::move(head), sender);
  };
  absl::StatusOr<std::pair<protocol::MailHead, uint64_t>> known = read();
  if (!known.ok()) {
    observer_.OnRequest("unreadable", known.status(), total, 0);
    return known.status();
  }
  auto& [head, sender] = *known;
  const protocol::MailRequest request = head.request;
  BegunMail begun{.head_bytes = head.head_bytes, .next = {}};
  if (const absl::Status may = CheckMay(request, sender); !may.ok()) {
    return Account(request, sender, total, may).status();
  }
  if (std::holds_alternative<protocol::PutMail>(request.body)) {
    begun.next =
        std::unique_ptr<IncomingMail>(new IncomingMail(*this, std::move(head), sender, total));
    return begun;
  }
  const auto act = [&]() -> absl::StatusOr<RequestAnswer> {
    if (const auto* fetch = std::get_if<protocol::FetchMail>(&request.body)) return Fetch(*fetch);
    TACET_RETURN_IF_ERROR(Drop(std::get<protocol::DropMail>(request.body)));
    return RequestAnswer();
  };
  TACET_ASSIGN_OR_RETURN(begun.next, Account(request, sender, total, act()));
  return begun;
}

absl::StatusOr<RequestAnswer> Mailbox::Fetch(const protocol::FetchMail& request) {
  if (request.name.kind == MailKind::kServer) {
    Progress progress;
    {
      const base::MutexLock lock(mutex_);
      progress = hooks_.progress;
    }
    protocol::ServedEpoch told = progress ? progress() : protocol::ServedEpoch();
    told.epoch = manifest_.epoch();
    told.manifest_hash = manifest_.manifest().hash();
    const base::Bytes served = protocol::WriteServedEpoch(told);
    if (request.offset != 0) return base::OutOfRange("the mail has {} bytes", served.size());
    base::Bytes answer = protocol::WriteFetchedPartHead(served.size(), served.size());
    answer.insert(answer.end(), served.begin(), served.end());
    return RequestAnswer{.head = std::move(answer)};
  }
  const base::MutexLock lock(mutex_);
  if (request.name.kind == MailKind::kLetter) {
    const auto kept = letters_.find(request.name.site);
    if (kept == letters_.end() || kept->second.letter.expires <= clock_()) {
      return base::NotFound("no letter waits for this site");
    }
  }
  ObjectPart part;
  TACET_ASSIGN_OR_RETURN(part.object, blobs_.Open(MailKey(request.name)));
  const uint64_t size = part.object->size();
  if (request.offset > size) {
    return base::OutOfRange("the mail has {} bytes, asked are those from {} on", size,
                            request.offset);
  }
  part.offset = request.offset;
  part.bytes = std::min<uint64_t>(protocol::kMaxPartBytes, size - request.offset);
  base::Bytes head = protocol::WriteFetchedPartHead(size, part.bytes);
  return RequestAnswer{.head = std::move(head), .part = std::move(part)};
}

absl::Status Mailbox::Drop(const protocol::DropMail& request) {
  const base::MutexLock lock(mutex_);
  const auto kept = letters_.find(request.name.site);
  // Another one was put meanwhile, or this one is gone: nothing to do.
  if (kept == letters_.end() || kept->second.digest != request.digest) return absl::OkStatus();
  letters_.erase(kept);
  return Sweep();
}

absl::StatusOr<protocol::Letter> Mailbox::CheckLetter(const protocol::PutMail& request,
                                                      std::span<const uint8_t> content) const {
  TACET_ASSIGN_OR_RETURN(protocol::Letter letter,
                         protocol::ReadLetter(content, manifest_.coordinator()));
  if (letter.site != request.name.site || letter.federation != manifest_.manifest().federation()) {
    return base::InvalidArgument("letter: it is for another site, or of another federation");
  }
  if (letter.epoch < manifest_.epoch() || letter.expires <= clock_()) {
    return base::FailedPrecondition("letter: epoch {} has ended here, or the letter has expired",
                                    letter.epoch);
  }
  TACET_ASSIGN_OR_RETURN(const bool is_there,
                         blobs_.Holds(MailKey(kTheEnclosure), letter.enclosure));
  if (is_there) return letter;
  return absl::AbortedError("letter: its enclosure is not here: put it first");
}

absl::StatusOr<uint64_t> Mailbox::PutWhole(const protocol::PutMail& request,
                                           std::span<const uint8_t> content) {
  if (content.size() != request.total || crypto::Sha256(content) != request.digest) {
    return base::DataLoss("mail request: a letter or a prekey comes whole, with its digest");
  }
  Kept kept{.letter = {}, .digest = request.digest};
  crypto::ExchangePublicKey prekey{};
  const bool is_letter = request.name.kind == MailKind::kLetter;
  if (is_letter) {
    TACET_ASSIGN_OR_RETURN(kept.letter, CheckLetter(request, content));
  } else if (request.name.kind == MailKind::kReply) {
    TACET_RETURN_IF_ERROR(protocol::ReadLetterReply(content, request.name.site).status());
  } else {
    TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest asked,
                           agreement::ReadEnrolmentRequest(content));
    if (asked.signing_key != request.name.site) {
      return base::PermissionDenied("mail request: the prekey is of another site");
    }
    prekey = asked.exchange_keys.exchange;
  }
  const BlobKey key = MailKey(request.name);
  TACET_ASSIGN_OR_RETURN(const bool is_there, HasWhole(blobs_, key, request.digest));
  if (!is_there) {
    TACET_ASSIGN_OR_RETURN(const uint64_t arrived, blobs_.Arrived(key, request.digest));
    const auto rest = content.subspan(std::min<uint64_t>(arrived, content.size()));
    if (!rest.empty()) TACET_RETURN_IF_ERROR(blobs_.Append(key, request.digest, arrived, rest));
    TACET_RETURN_IF_ERROR(blobs_.Complete(key, request.digest).status());
  }
  if (is_letter) {
    letters_[request.name.site] = std::move(kept);
    unread_.erase(request.name.site);
    enclosure_alone_ = false;
  }
  if (request.name.kind == MailKind::kPrekey) prekeys_[request.name.site] = prekey;
  return request.total;
}

absl::StatusOr<uint64_t> Mailbox::Put(const protocol::PutMail& request,
                                      std::span<const uint8_t> part) {
  uint64_t arrived = 0;
  {
    const base::MutexLock lock(mutex_);
    if (request.name.kind != MailKind::kEnclosure && request.name.kind != MailKind::kServer) {
      return PutWhole(request, part);
    }
    TACET_ASSIGN_OR_RETURN(arrived, PutPart(request, part));
  }
  if (request.name.kind == MailKind::kServer && arrived == request.total) {
    TACET_RETURN_IF_ERROR(TakeServerInvitation(request));
  }
  return arrived;
}

void Mailbox::OnInvitation(TakeInvitation take) {
  const base::MutexLock lock(mutex_);
  hooks_.take = std::move(take);
}

// Without the lock: the server's folder may wait for another process.
absl::Status Mailbox::TakeServerInvitation(const protocol::PutMail& request) {
  TakeInvitation take;
  base::Bytes invitation;
  {
    const base::MutexLock lock(mutex_);
    take = hooks_.take;
    TACET_ASSIGN_OR_RETURN(invitation, blobs_.Read(MailKey(kServerInvitation), request.digest));
    invitation_arrives_ = false;
    TACET_RETURN_IF_ERROR(Sweep());
  }
  if (take) return take(invitation);
  return base::FailedPrecondition(
      "this server takes its invitation as a file: its operator runs `tacet client join FILE` and "
      "starts it again, or starts it with --follow");
}

absl::StatusOr<uint64_t> Mailbox::PutPart(const protocol::PutMail& request,
                                          std::span<const uint8_t> part) {
  const BlobKey key = MailKey(request.name);
  if (request.name.kind == MailKind::kServer) invitation_arrives_ = true;
  TACET_ASSIGN_OR_RETURN(const bool is_there, HasWhole(blobs_, key, request.digest));
  uint64_t arrived = request.total;
  if (!is_there) {
    TACET_ASSIGN_OR_RETURN(arrived, blobs_.Arrived(key, request.digest));
    if (arrived < request.total && !part.empty()) {
      TACET_RETURN_IF_ERROR(blobs_.Append(key, request.digest, request.offset, part));
      arrived += part.size();
    }
    if (arrived < request.total) return arrived;
    TACET_RETURN_IF_ERROR(blobs_.Complete(key, request.digest).status());
  }
  if (request.name.kind == MailKind::kEnclosure) enclosure_alone_ = true;
  return arrived;
}

absl::StatusOr<RequestAnswer> Mailbox::Account(const protocol::MailRequest& request,
                                               uint64_t sender, size_t request_bytes,
                                               absl::StatusOr<RequestAnswer> answer) {
  const size_t answer_bytes = answer.ok() ? answer->size() : 0;
  observer_.OnRequest(protocol::MailRequestName(request.body.index()), answer.status(),
                      request_bytes, answer_bytes);
  if (!answer.ok()) return ToldToMember(answer.status());
  if (sender < manifest_.members().size()) limits_.Charge(sender, answer_bytes);
  return answer;
}

}  // namespace tacet::server

#include "tacet/host/handshake_watch.h"

#include <algorithm>
#include <cstdint>

#include "tacet/base/json.h"

namespace tacet::host {

using tacet::server::RefusedFor;
using transport::http::HandshakeFault;

namespace {

constexpr std::chrono::minutes kBetweenLines(10);

}  // namespace

void HandshakeWatch::OnRefused(const transport::http::RefusedHandshake& refused,
                               tacet::server::RoundServer& rounds) {
  metrics_.CountRefusedHandshake(refused.fault);
  if (refused.name.empty()) return;
  if (MayLog(refused.name)) {
    log_.Write(LogLevel::kWarning, "handshake-refused",
               base::JsonValue::MakeObject()
                   .Set("reason", HandshakeFaultName(refused.fault))
                   .Set("name", refused.name));
  }
  const auto& members = manifest_.members();
  const auto member = std::ranges::find(members, refused.name, &agreement::ManifestMember::name);
  const bool ended = refused.fault == HandshakeFault::kCertificateEnded;
  if (member == members.end() ||
      (!ended && refused.fault != HandshakeFault::kCertificateNotYetValid)) {
    return;
  }
  rounds.NotePresence(static_cast<uint64_t>(member - members.begin()),
                      ended ? RefusedFor::kCertificateEnded : RefusedFor::kCertificateNotYetValid);
}

bool HandshakeWatch::MayLog(const std::string& name) {
  const base::MutexLock lock(mutex_);
  const auto now = clock_();
  const auto [last, is_new] = logged_.try_emplace(name, now);
  if (!is_new && now - last->second < kBetweenLines) return false;
  last->second = now;
  return true;
}

}  // namespace tacet::host

// Why a TLS handshake of a server ended, as far as the server knows.
#ifndef TACET_TRANSPORT_HTTP_HANDSHAKE_FAULT_H_
#define TACET_TRANSPORT_HTTP_HANDSHAKE_FAULT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tacet::transport::http {

enum class HandshakeFault : uint8_t {
  kCertificateEnded,
  kCertificateNotYetValid,
  kNotAMember,        // a certificate of the authority for somebody who is not admitted
  kOtherCertificate,  // of another authority, or not for a client
  kNoCertificate,
  kAlert,   // the other end gave up, such as one that does not accept the server's certificate
  kBroken,  // not TLS 1.3, or cut short
};
// certificate-ended, certificate-not-yet-valid, not-a-member, other-certificate, no-certificate,
// alert, broken.
std::string_view HandshakeFaultName(HandshakeFault fault);

struct RefusedHandshake {
  HandshakeFault fault = HandshakeFault::kBroken;
  // In the certificate, where the authority signed it. Whether the other end has its key was not
  // checked.
  std::string name = {};
};

// Called on the threads of handshakes.
using OnRefusedHandshake = std::function<void(const RefusedHandshake& refused)>;

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_HANDSHAKE_FAULT_H_

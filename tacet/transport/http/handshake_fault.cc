#include "tacet/transport/http/handshake_fault.h"

namespace tacet::transport::http {

std::string_view HandshakeFaultName(HandshakeFault fault) {
  switch (fault) {
    case HandshakeFault::kCertificateEnded:
      return "certificate-ended";
    case HandshakeFault::kCertificateNotYetValid:
      return "certificate-not-yet-valid";
    case HandshakeFault::kNotAMember:
      return "not-a-member";
    case HandshakeFault::kOtherCertificate:
      return "other-certificate";
    case HandshakeFault::kNoCertificate:
      return "no-certificate";
    case HandshakeFault::kAlert:
      return "alert";
    case HandshakeFault::kBroken:
      return "broken";
  }
  return "";
}

}  // namespace tacet::transport::http

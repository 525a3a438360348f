// Causes of failed calls: which of them somebody has to remove, and what to do.
#ifndef TACET_TRANSPORT_HTTPS_CONNECTION_FAILURE_H_
#define TACET_TRANSPORT_HTTPS_CONNECTION_FAILURE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tacet::transport::https {

// A call without an answer of the server, as libcurl and OpenSSL number its causes.
struct ConnectionFailure {
  int curl = 0;           // CURLcode
  std::string text = {};  // libcurl's
  long verified = 0;      // X509_V_…, of the server's certificate
  int tls_reason = 0;     // SSL_R_…, 0 for none
  int alert = -1;         // TLS alert of the other end, −1 for none
  // Whether the other end had shown the server's certificate before the alert.
  bool alert_is_servers = false;
  long proxy_status = 0;  // of HTTP, 0 without a proxy
  int resolver = 0;       // EAI_… of the name that could not be resolved
};

// Names for the messages.
struct ConnectionNames {
  std::string server;  // HOST:PORT
  std::string host;
  std::string proxy;  // without user and password; empty: none, or that of the environment
};

// Unavailable or DeadlineExceeded for what may pass. Unauthenticated (protocol::IsPermanent) for
// what does not, with the thing to do. Refusals that may be due to the server's clock are
// protocol::Lasting. After the server was `reached` once, only it can say that an
// error is permanent: anybody else on the way could end a member with one.
absl::Status StatusOf(const ConnectionFailure& failure, const ConnectionNames& names, bool reached);

// The same for an answer that does not come from a server of ours, and for one that speaks another
// version.
absl::Status StatusOfStranger(long http_status, const ConnectionNames& names, bool reached);
absl::Status StatusOfVersion(std::string_view version, const ConnectionNames& names);

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_CONNECTION_FAILURE_H_

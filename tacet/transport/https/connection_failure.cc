#include "tacet/transport/https/connection_failure.h"

#include <curl/curl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "tacet/base/status.h"
#include "tacet/protocol/wire.h"
#include "tacet/transport/https/call_format.h"

namespace tacet::transport::https {
namespace {

// Permanent as long as nobody has reached the server.
absl::Status UntilReached(bool reached, const std::string& text) {
  return reached ? absl::UnavailableError(text) : absl::UnauthenticatedError(text);
}

absl::Status Passing(const ConnectionFailure& failure, const ConnectionNames& names) {
  return base::Unavailable("no answer from the server at {}: {}", names.server, failure.text);
}

absl::Status OfName(const ConnectionFailure& failure, const ConnectionNames& names, bool reached) {
  const bool of_proxy = failure.curl == CURLE_COULDNT_RESOLVE_PROXY;
  const std::string what = of_proxy ? "the proxy" : fmt::format("the server at {}", names.server);
  if (failure.resolver != EAI_NONAME) {
    return base::Unavailable("{}: its name cannot be looked up now", what);
  }
  return UntilReached(reached, fmt::format("{}: no machine has this name. Correct --{}", what,
                                           of_proxy ? "proxy" : "server"));
}

absl::Status OfProxy(const ConnectionFailure& failure, const ConnectionNames& names, bool reached) {
  const std::string proxy = names.proxy.empty() ? "the proxy" : "the proxy " + names.proxy;
  switch (failure.proxy_status) {
    case 407:
      return UntilReached(reached, fmt::format("{} asks for a user and a password, or for other "
                                               "ones. Give them: --proxy "
                                               "http://USER:PASSWORD@HOST:PORT",
                                               proxy));
    case 502:
    case 503:
    case 504:
      return base::Unavailable("{} cannot connect to {} now (HTTP {})", proxy, names.server,
                               failure.proxy_status);
    default:
      return UntilReached(
          reached, fmt::format("{} refuses to connect to {} (HTTP {}). Ask its administrator to "
                               "allow CONNECT to this host and port",
                               proxy, names.server, failure.proxy_status));
  }
}

absl::Status OfServerCertificate(const ConnectionFailure& failure, const ConnectionNames& names,
                                 bool reached) {
  const auto explained = [&](std::string_view what) {
    return UntilReached(reached, fmt::format("the server at {}: {}", names.server, what));
  };
  switch (failure.verified) {
    case X509_V_OK:               // of the authority, but made for another host
    case X509_V_ERR_UNSPECIFIED:  // libcurl compares hosts before it notes the result
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return explained(
          fmt::format("its certificate does not name {}. Use the name that it was "
                      "enrolled with (tacet client request --server-host)",
                      names.host));
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return explained(
          "its certificate has expired. Check this machine's clock; if it is right, the server's "
          "operator needs a new invitation from the coordinating member");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return explained("its certificate is not valid yet. Check this machine's clock");
    case X509_V_ERR_INVALID_PURPOSE:
      return explained("its certificate is not for a server. Check --server");
    default:
      return explained(
          "its certificate is not of this federation's authority: it is another federation's "
          "server, or something between here and there opens TLS connections. Check --server, and "
          "ask for an exception from TLS inspection");
  }
}

// The server has shown its certificate, and refuses ours.
absl::Status OfAlert(const ConnectionFailure& failure, const ConnectionNames& names) {
  const auto explained = [&](std::string_view what) {
    return absl::UnauthenticatedError(fmt::format("the server at {} {}", names.server, what));
  };
  // The server's clock may be wrong, and right again later.
  const auto by_clock = [&](std::string_view what) {
    return protocol::Lasting(fmt::format("the server at {} {}", names.server, what));
  };
  switch (failure.alert) {
    case SSL_AD_CERTIFICATE_REVOKED:
      return explained(
          "refuses this site: it is not a member in the server's epoch. It was removed, or the "
          "server has not accepted the invitation to this epoch. Ask the coordinating member");
    case SSL_AD_CERTIFICATE_EXPIRED:
      return by_clock(
          "refuses this site's certificate: it has expired by the server's clock. Check the "
          "clocks, "
          "then ask the coordinating member for a new invitation, and accept it with tacet client "
          "join");
    case SSL_AD_BAD_CERTIFICATE:
      return by_clock(
          "refuses this site's certificate: it is not valid yet by the server's clock, or not a "
          "site's. Check the clocks, then ask the coordinating member for a new invitation");
    case SSL_AD_UNKNOWN_CA:
      return explained(
          "belongs to another federation than this site's certificate. Check --server and --home");
    default:
      return explained(fmt::format(
          "refuses this site's certificate (TLS alert {}). Ask the coordinating member for a new "
          "invitation",
          failure.alert));
  }
}

bool RefusesCertificate(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_DECRYPT_ERROR:
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

absl::Status OfHandshake(const ConnectionFailure& failure, const ConnectionNames& names,
                         bool reached) {
  const bool cut =
      failure.tls_reason == 0 || failure.tls_reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  if (cut && failure.alert < 0) return Passing(failure, names);
  return UntilReached(
      reached,
      fmt::format("the server at {}: something answers that is not a server of tacet ({}). "
                  "Check host and port of --server; the operators' port (--admin) is "
                  "another one",
                  names.server, failure.text));
}

}  // namespace

absl::Status StatusOf(const ConnectionFailure& failure, const ConnectionNames& names,
                      bool reached) {
  if (failure.alert_is_servers && RefusesCertificate(failure.alert)) return OfAlert(failure, names);
  if (failure.proxy_status >= 300) return OfProxy(failure, names, reached);
  switch (failure.curl) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return OfName(failure, names, reached);
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(
          fmt::format("the server at {} did not answer in time: {}", names.server, failure.text));
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return UntilReached(reached,
                          fmt::format("the server at {}: its key is not the one that this epoch's "
                                      "manifest names. It is the server of another epoch, or an "
                                      "impostor. Check --server, accept the latest invitation with "
                                      "tacet client join, and ask the coordinating member",
                                      names.server));
    case CURLE_PEER_FAILED_VERIFICATION:
      return OfServerCertificate(failure, names, reached);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return OfHandshake(failure, names, reached);
    default:
      return Passing(failure, names);
  }
}

absl::Status StatusOfStranger(long http_status, const ConnectionNames& names, bool reached) {
  constexpr long kTooManyRequests = 429, kServerErrors = 500;
  if (http_status >= kServerErrors || http_status == kTooManyRequests) {
    return base::Unavailable("no answer from the server at {}: something before it answers HTTP {}",
                             names.server, http_status);
  }
  return UntilReached(
      reached, fmt::format("the server at {}: what answers is not a server of tacet (HTTP {}). "
                           "Check host and port of --server, and where a balancer sends {}",
                           names.server, http_status, CallPath()));
}

absl::Status StatusOfVersion(std::string_view version, const ConnectionNames& names) {
  return absl::UnauthenticatedError(
      fmt::format("the server at {} speaks version {} of tacet's protocol, this program version "
                  "{}. Install the release of tacet that the server runs",
                  names.server, version.substr(0, 20), kWireVersion));
}

}  // namespace tacet::transport::https

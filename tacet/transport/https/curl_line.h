// One connection of a client, through libcurl.
#ifndef TACET_TRANSPORT_HTTPS_CURL_LINE_H_
#define TACET_TRANSPORT_HTTPS_CURL_LINE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/transport/https/connection_failure.h"

namespace tacet::transport::https {

// Everything that a line is set up with. Lines share one.
struct LineSettings {
  std::string host = {};
  std::string url = {};
  std::string proxy = {};  // HOST:PORT; empty: that of the environment
  std::string proxy_user = {}, proxy_password = {};
  base::Bytes authority = {};
  std::string server_key =
      {};  // pins, sha256//BASE64 of SubjectPublicKeyInfo, with ; between; empty: any
  base::Bytes certificate = {};
  crypto::TlsKey key;
};

// Outcome of a call: an HTTP response, or a failure.
struct LineOutcome {
  bool answered = false;
  long http_status = 0;
  std::string wire, status;  // headers, call_format.h
  base::Bytes body;
  bool stopped = false;
  bool silent = false;  // it ended because no byte came or went for too long
  ConnectionFailure failure;
};

// Keeps its connection for the next call. Not thread-safe but for Stop.
class CurlLine {
 public:
  explicit CurlLine(std::shared_ptr<const LineSettings> settings);
  ~CurlLine();
  CurlLine(const CurlLine&) = delete;
  CurlLine& operator=(const CurlLine&) = delete;

  // False when libcurl could not be set up.
  bool ok() const;
  // `head` and `content` are the body of the request. The call ends as CallClock says; its
  // connection goes with it unless it was answered.
  LineOutcome Call(std::span<const uint8_t> head, std::span<const uint8_t> content,
                   std::chrono::milliseconds most, std::chrono::milliseconds most_silence);
  // Ends the call in progress and all further ones.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_CURL_LINE_H_

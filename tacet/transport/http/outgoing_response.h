// Bytes of a response on their way out, a piece at a time.
#ifndef TACET_TRANSPORT_HTTP_OUTGOING_RESPONSE_H_
#define TACET_TRANSPORT_HTTP_OUTGOING_RESPONSE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tacet/base/bytes.h"
#include "tacet/transport/http/byte_stream.h"
#include "tacet/transport/http/exchange.h"

namespace tacet::transport::http {

class OutgoingResponse {
 public:
  // "100 Continue": the request's body follows.
  void SetInterim();
  // Returns the bytes of its body. `wants_body`: false for HEAD.
  uint64_t Set(Response response, bool keep_alive, bool wants_body);

  // Writes the next piece; nothing once all has gone. kEnded when the response's source fails.
  std::optional<IoResult> WriteTo(ByteStream& stream);
  // Whether what has gone was interim; it is not any more.
  bool TakeInterim();
  void Drop() { more_.reset(); }

 private:
  base::Bytes out_;
  size_t out_at_ = 0;
  base::Bytes then_;  // what follows `out_`, and `more_` that
  std::unique_ptr<BodySource> more_;
  uint64_t more_left_ = 0;
  bool is_interim_ = false;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_OUTGOING_RESPONSE_H_

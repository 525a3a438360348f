// Identity of an attempt at a round.
#ifndef TACET_ATTEMPT_ID_H_
#define TACET_ATTEMPT_ID_H_

#include <cstdint>

#include "tacet/types.h"

namespace tacet {

// A round is tried until an attempt succeeds. Every key, upload, vote and share is bound to one
// attempt and to the model that it began with; messages of another attempt are refused.
struct AttemptId {
  uint32_t round = 0;    // 0 to T - 1
  uint32_t attempt = 0;  // 0 to AgreementOptions::spare_attempts
  // Client::ModelDigest of the parameters from which the participants trained: the same for all of
  // them.
  Digest model_digest{};

  friend bool operator==(const AttemptId&, const AttemptId&) = default;
};

}  // namespace tacet

#endif  // TACET_ATTEMPT_ID_H_

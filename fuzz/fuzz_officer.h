// The officer whose signatures the policy fuzzer and its seeds know.
#ifndef TACET_FUZZ_FUZZ_OFFICER_H_
#define TACET_FUZZ_FUZZ_OFFICER_H_

#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"

namespace tacet::fuzz {

inline crypto::SigningKey FuzzOfficer() {
  crypto::InsecureSeededEntropy entropy(1, "officer");
  return crypto::SigningKey::Generate(entropy);
}

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_OFFICER_H_

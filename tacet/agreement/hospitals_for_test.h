// A federation of hospitals, without its members: what its coordinator signs.
#ifndef TACET_AGREEMENT_HOSPITALS_FOR_TEST_H_
#define TACET_AGREEMENT_HOSPITALS_FOR_TEST_H_

#include <cstdint>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/authority_for_test.h"

namespace tacet::agreement {

inline SignedManifestSpec HospitalFederation(uint64_t cohort) {
  SignedManifestSpec spec;
  spec.federation = "hospitals";
  spec.agreement.federation = {7};
  spec.agreement.model = "logistic";
  spec.agreement.dimension = 60;
  spec.agreement.sampling.cohort = cohort;
  spec.agreement.rounds = 5;
  spec.agreement.mechanism.scale = 1e-2;
  spec.agreement.mechanism.noise_stddev = 3;
  spec.authority = crypto::SomeAuthority();
  return spec;
}

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_HOSPITALS_FOR_TEST_H_

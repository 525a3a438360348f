// Requests and answers between members and server. The first byte picks the format of the rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_federation.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/objection.h"
#include "tacet/protocol/whole_requests_for_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  static fuzz::FuzzFederation& known = *new fuzz::FuzzFederation;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const auto same = [&bytes](const base::Bytes& again) {
    if (!std::ranges::equal(again, bytes)) std::abort();
  };
  const auto key_of = [](uint64_t member) -> const crypto::SigningKey& {
    return member == 0 ? known.site.signing : known.coordinator;
  };
  switch (data[0] % 9) {
    case 0: {
      const auto request =
          protocol::ReadMemberRequest(bytes, known.manifest, fuzz::FuzzFederation::kNow);
      if (!request.ok()) break;
      same(protocol::WriteMemberRequest(*request, known.manifest, key_of(request->member)));
      break;
    }
    case 1: {
      const auto announcement = protocol::ReadAnnouncement(bytes);
      if (announcement.ok()) same(protocol::WriteAnnouncement(*announcement));
      break;
    }
    case 2: {
      const auto attestation = protocol::ReadAttestation(bytes, known.manifest);
      if (!attestation.ok()) break;
      same(protocol::WriteAttestation(*attestation, known.manifest, key_of(attestation->member)));
      break;
    }
    case 3: {
      const auto fetched = protocol::ReadFetchedPart(bytes);
      if (fetched.ok()) same(protocol::WriteFetchedPart(fetched->total, fetched->part));
      break;
    }
    case 4: {
      const auto arrived = protocol::ReadArrived(bytes);
      if (arrived.ok()) same(protocol::WriteArrived(*arrived));
      break;
    }
    case 5: {
      const auto blobs = protocol::ReadBlobs(bytes);
      if (blobs.ok()) same(protocol::WriteBlobs(*blobs));
      break;
    }
    case 6: {
      const auto statement = protocol::ReadOpeningStatement(bytes, known.manifest);
      if (!statement.ok()) break;
      same(protocol::WriteOpeningStatement(*statement, known.manifest, key_of(statement->member)));
      break;
    }
    case 7: {
      const auto abstention = protocol::ReadAbstention(bytes, known.manifest);
      if (!abstention.ok()) break;
      same(protocol::WriteAbstention(*abstention, key_of(abstention->member)));
      break;
    }
    case 8: {
      const auto objection = protocol::ReadObjection(bytes, known.manifest);
      if (!objection.ok()) break;
      same(protocol::WriteObjection(*objection, known.manifest, key_of(objection->member)));
      break;
    }
    default:
      break;
  }
  return 0;
}

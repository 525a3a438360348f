// What members and server say to each other. The first byte picks what the rest is read as.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_federation.h"
#include "tacet/federation/announcement.h"
#include "tacet/federation/member_request.h"
#include "tacet/federation/model_statement.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  static fuzz::FuzzFederation& known = *new fuzz::FuzzFederation;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const auto same = [&bytes](const base::Bytes& again) {
    if (!std::ranges::equal(again, bytes)) std::abort();
  };
  switch (data[0] % 6) {
    case 0: {
      const auto request =
          federation::ReadMemberRequest(bytes, known.manifest, fuzz::FuzzFederation::kNow);
      if (!request.ok()) break;
      const base::SigningKey& key = request->member == 0 ? known.site.signing : known.coordinator;
      same(federation::WriteMemberRequest(*request, known.manifest, key));
      break;
    }
    case 1: {
      const auto announcement = federation::ReadAnnouncement(bytes);
      if (announcement.ok()) same(federation::WriteAnnouncement(*announcement));
      break;
    }
    case 2: {
      const auto statement = federation::ReadModelStatement(bytes, known.manifest);
      if (!statement.ok()) break;
      const base::SigningKey& key = statement->member == 0 ? known.site.signing : known.coordinator;
      same(federation::WriteModelStatement(*statement, known.manifest, key));
      break;
    }
    case 3: {
      const auto fetched = federation::ReadFetchedPart(bytes);
      if (fetched.ok()) same(federation::WriteFetchedPart(fetched->total, fetched->part));
      break;
    }
    case 4: {
      const auto arrived = federation::ReadArrived(bytes);
      if (arrived.ok()) same(federation::WriteArrived(*arrived));
      break;
    }
    case 5: {
      const auto blobs = federation::ReadBlobs(bytes);
      if (blobs.ok()) same(federation::WriteBlobs(*blobs));
      break;
    }
    default:
      break;
  }
  return 0;
}

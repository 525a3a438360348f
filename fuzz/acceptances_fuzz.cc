// A site's record of acceptances as it lies on disk: once with the
// bytes of the input alone, and once with the site's own signature behind them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_officer.h"
#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/bytes.h"
#include "tacet/policy/acceptance_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const crypto::SigningKey site = fuzz::FuzzOfficer();
  base::ByteWriter writer;
  writer.Raw(std::span(data, size));
  agreement::AppendSignature("tacet/1/acceptances", site, writer);
  for (const std::span<const uint8_t> bytes :
       {std::span<const uint8_t>(data, size), std::span<const uint8_t>(writer.bytes())}) {
    const auto record = policy::ReadAcceptanceRecord(bytes, site.public_key());
    // Accepted bytes are canonical.
    if (record.ok() && !std::ranges::equal(policy::WriteAcceptanceRecord(*record, site), bytes)) {
      std::abort();
    }
  }
  return 0;
}

// Seeds of the policy fuzzer: run it when the format changes.
// usage: make_policy_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/fuzz_officer.h"
#include "fuzz/seed_folder.h"
#include "tacet/base/bytes.h"
#include "tacet/policy/policy_signature.h"

namespace {

using namespace tacet;

constexpr std::string_view kPolicy = R"([policy]
sites = ["north"]
serial = 3
[privacy]
epsilon_per_year = 2.0
delta = 1e-5
units = ["record", "person"]
[federation]
min_participants = 3
committee_seats = 3
committee_corrupt = 1
[data]
records = 500
columns = ["age", "ill"]
[training]
kinds = ["training"]
[ledger]
folder = "/ledger"
)";

constexpr std::string_view kAllKeys = R"([policy]
sites = ["north", "south"]
serial = 4
successor = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
[privacy]
epsilon_per_year = 2.0
delta = 1e-5
units = ["record", "person", "client"]
neighbouring = ["zero-out"]
noise_laws = ["gaussian"]
colluders = 1
appearances = 2
[federation]
min_participants = 3
committee_seats = 5
committee_corrupt = 1
committee_packing = 2
dummy_uploads = true
[data]
records = 500
columns = ["*"]
person_column = "patient"
[training]
kinds = ["training", "query"]
[query]
kinds = ["count", "survival"]
floor = 10
site_groups = false
[acceptance]
accept = "within-policy"
kinds = ["training", "query", "removal", "server", "renewal", "addition"]
epsilon = 0.5
unknown_members = 1
[ledger]
folder = "/var/lib/tacet/ledger"
rule = "own-seals"
population = "staff-2026"
others = true
)";

base::Bytes Joined(const base::Bytes& signature, std::string_view text) {
  base::ByteWriter writer;
  writer.Raw(signature);
  writer.Raw(text);
  return writer.Take();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_policy_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const fuzz::SeedFolder folder(std::filesystem::path(argv[1]) / "policy");
  const crypto::SigningKey officer = fuzz::FuzzOfficer();
  crypto::InsecureSeededEntropy entropy(2, "operator");
  const base::Bytes good = policy::SignPolicy(base::AsBytes(kPolicy), officer);
  const base::Bytes others =
      policy::SignPolicy(base::AsBytes(kPolicy), crypto::SigningKey::Generate(entropy));
  const auto size = static_cast<uint8_t>(good.size());
  folder.WriteWithVariants("signed", size, Joined(good, kPolicy));
  folder.Write("signed-by-another", size, Joined(others, kPolicy));
  folder.Write("signed-before", size, Joined(good, std::string(kPolicy) + "# changed"));
  folder.Write("signature-cut", static_cast<uint8_t>(size - 9),
               Joined({good.begin(), good.end() - 9}, kPolicy));
  folder.Write("unsigned", 0, base::AsBytes(kPolicy));
  folder.Write("all-keys", 0, base::AsBytes(kAllKeys));
  for (const auto& [name, ledger] :
       {std::pair("population-main", "population = \"main\"\nothers = true\n"),
        std::pair("population-alone", "population = \"staff\"\n"),
        std::pair("others-alone", "others = true\n"),
        std::pair("population-path", "population = \"../staff\"\nothers = true\n")}) {
    folder.Write(name, 0, base::AsBytes(std::string(kPolicy) + ledger));
  }
  folder.Write("accepts-without-limits", 0,
               base::AsBytes(std::string(kPolicy) +
                             "[acceptance]\naccept = \"within-policy\"\nkinds = [\"query\"]\n"));
  folder.Write("unknown-key", 0, base::AsBytes(std::string(kPolicy) + "place = 1\n"));
  folder.Write("empty", 0, {});
  return 0;
}

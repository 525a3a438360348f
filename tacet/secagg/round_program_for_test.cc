// A round from fixed seeds in three steps that exchange files, so that each step can run on another
// processor (tools/arm64_check.sh):
//   seal FOLDER      writes upload-0, upload-1, ...
//   add FOLDER       reads them, writes closed-round and roster
//   decrypt FOLDER   reads all of these, writes sums to the standard output
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tacet/secagg/seeded_round_for_test.h"

namespace {

using namespace tacet;  // NOLINT
using secagg::testing::SeededRound;

void Write(const std::filesystem::path& path, const base::Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.exceptions(std::ios::badbit | std::ios::failbit);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<ptrdiff_t>(bytes.size()));
}

base::Bytes Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  file.exceptions(std::ios::badbit | std::ios::failbit);
  return base::Bytes(std::istreambuf_iterator<char>(file), {});
}

std::filesystem::path UploadIn(const std::filesystem::path& folder, size_t participant) {
  return folder / ("upload-" + std::to_string(participant));
}

std::vector<base::Bytes> ReadUploads(const std::filesystem::path& folder) {
  std::vector<base::Bytes> uploads;
  for (size_t k = 0; k < SeededRound::kParticipants; ++k) {
    uploads.push_back(Read(UploadIn(folder, k)));
  }
  return uploads;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string step = argc == 3 ? argv[1] : "";
  const std::filesystem::path folder = argc == 3 ? argv[2] : "";
  SeededRound round;
  if (step == "seal") {
    const std::vector<base::Bytes> uploads = round.SealedUpdates();
    for (size_t k = 0; k < uploads.size(); ++k) Write(UploadIn(folder, k), uploads[k]);
  } else if (step == "add") {
    const secagg::Aggregator::Closed closed = round.Close(ReadUploads(folder));
    Write(folder / "closed-round", closed.closed_round);
    Write(folder / "roster", closed.roster);
  } else if (step == "decrypt") {
    secagg::Aggregator::Closed closed;
    closed.closed_round = Read(folder / "closed-round");
    closed.roster = Read(folder / "roster");
    const base::Bytes sums = round.SumsOf(closed, ReadUploads(folder));
    std::cout.write(reinterpret_cast<const char*>(sums.data()),
                    static_cast<ptrdiff_t>(sums.size()));
  } else {
    std::cerr << "usage: tacet_round_program seal|add|decrypt FOLDER\n";
    return 2;
  }
  return std::cout.good() && !::testing::Test::HasFailure() ? 0 : 1;
}

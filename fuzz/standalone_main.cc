// Runner of a fuzz target without libFuzzer: the empty input, every seed file named on the command
// line and, unless the first argument is --seeds-only, a fixed number of fixed mutations of each.
// The inputs are the same every time; a crash is a failure.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr int kMutationsPerSeed = 150;

size_t Below(std::mt19937_64& generator, size_t bound) { return generator() % bound; }

// One to four small damages: a flipped bit, an extreme byte, a cut, a longer end, a repeated piece,
// an extreme 32-bit word (where lengths stand).
Input Mutate(Input input, std::mt19937_64& generator) {
  const size_t damages = 1 + Below(generator, 4);
  for (size_t i = 0; i < damages; ++i) {
    const size_t at = input.empty() ? 0 : Below(generator, input.size());
    const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (input.empty() ? 3 : Below(generator, 6)) {
      case 0:
        input[at] = static_cast<uint8_t>(input[at] ^ 1u << Below(generator, 8));
        break;
      case 1:
        input[at] = Below(generator, 2) == 0 ? 0x00 : 0xff;
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        for (size_t n = 1 + Below(generator, 16); n > 0; --n) {
          input.push_back(static_cast<uint8_t>(generator()));
        }
        break;
      case 4: {
        const Input piece(position, input.end());
        input.insert(position, piece.begin(), piece.end());
        break;
      }
      default: {
        const uint8_t fill = Below(generator, 2) == 0 ? 0x00 : 0xff;
        std::fill_n(position, std::min<size_t>(4, input.size() - at), fill);
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const bool seeds_only = argc > 1 && std::string_view(argv[1]) == "--seeds-only";
  const int mutations = seeds_only ? 0 : kMutationsPerSeed;
  LLVMFuzzerTestOneInput(nullptr, 0);
  int inputs = 1;
  for (int i = seeds_only ? 2 : 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read the seed %s\n", argv[i]);
      return 1;
    }
    const Input seed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    std::mt19937_64 generator(static_cast<uint64_t>(i));
    for (int j = 0; j < mutations; ++j) {
      const Input mutated = Mutate(seed, generator);
      LLVMFuzzerTestOneInput(mutated.data(), mutated.size());
    }
    inputs += 1 + mutations;
  }
  std::printf("%d inputs\n", inputs);
  return 0;
}

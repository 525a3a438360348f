// A site's own training program, for tests. It adds known values, and keeps copies of the model
// that it was given and of the update, which nobody else may ever see. usage: train_for_test
// KEPT-FOLDER MODEL RESULT ROUND
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::vector<float> Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> values(static_cast<size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

bool Write(const std::string& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string kept = argv[1], round = argv[4];
  const std::vector<float> model = Read(argv[2]);
  std::vector<float> result = model, update = model;
  for (size_t i = 0; i < model.size(); ++i) {
    // No two neighbours alike; its norm is far below what is clipped.
    result[i] += 1e-3F * static_cast<float>(std::sin(static_cast<double>(i * i + round.size())));
    update[i] = result[i] - model[i];
  }
  const bool written = Write(kept + "/model-" + round, model) &&
                       Write(kept + "/update-" + round, update) && Write(argv[3], result);
  return written ? 0 : 1;
}

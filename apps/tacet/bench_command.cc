#include "apps/tacet/bench_command.h"

#include <limits>
#include <string>

#include "fmt/core.h"

#include "apps/tacet/bench_he.h"
#include "apps/tacet/json.h"
#include "tacet/base/cpu.h"
#include "tacet/base/status.h"

namespace tacet::app {
namespace {

class BenchCommand : public Command {
 public:
  std::string_view name() const override { return "bench"; }
  std::string_view summary() const override {
    return "measure this machine: what sealing, adding and opening cost, on one core";
  }

  void Register(Options& options) override {
    options.AddPositional("what", "he: encryption and everything around it", {"he"}, true, &what_);
    options.AddChoice("parameters", "encryption scheme", {"compact", "paper", "paper-secret-key"},
                      &parameters_);
    options.AddUint("dimension", "d, values of an update", &dimension_);
    options.AddUint("participants", "K, uploads to add", &participants_);
    options.AddUint("plaintext-bits", "w, bits of a sum", &plaintext_bits_);
    options.AddUint("repetitions", "runs of which the median is printed", &repetitions_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    for (const auto& [flag, value] :
         {std::pair{"dimension", dimension_}, std::pair{"participants", participants_},
          std::pair{"plaintext-bits", plaintext_bits_}, std::pair{"repetitions", repetitions_}}) {
      if (value < 1 || value > kMost) {
        return base::InvalidArgument("--{} is {}, it must be from 1 to {}", flag, value, kMost);
      }
    }
    BenchHeSpec spec;
    for (const he::Scheme scheme :
         {he::Scheme::kCompact, he::Scheme::kPaperPublicKey, he::Scheme::kPaperSecretKey}) {
      if (parameters_ == he::SchemeName(scheme)) spec.scheme = scheme;
    }
    spec.dimension = dimension_;
    spec.participants = static_cast<uint32_t>(participants_);
    spec.plaintext_bits = static_cast<uint32_t>(plaintext_bits_);
    spec.repetitions = static_cast<uint32_t>(repetitions_);
    TACET_ASSIGN_OR_RETURN(const BenchHeResult result, BenchHe(spec));
    JsonValue json = JsonValue::MakeObject();
    json.Set("parameters", parameters_)
        .Set("dimension", dimension_)
        .Set("participants", participants_)
        .Set("plaintext_bits", plaintext_bits_)
        .Set("cpu", base::CpuModelName())
        .Set("simd", base::SimdName(base::ActiveSimd()))
        .Set("setup_s", result.setup_s)
        .Set("encode_s", result.encode_s)
        .Set("encrypt_s", result.encrypt_s)
        .Set("encode_encrypt_s", result.encode_encrypt_s)
        .Set("seal_s", result.seal_s)
        .Set("aggregate_s", result.aggregate_s)
        .Set("decrypt_s", result.decrypt_s)
        .Set("upload_bytes", result.upload_bytes)
        .Set("sum_bytes", result.sum_bytes)
        .Set("peak_rss_bytes", result.peak_rss_bytes)
        .Set("wrong_values", result.wrong_values);
    if (json_) {
      fmt::print("{}\n", json.Dump(2));
      return absl::OkStatus();
    }
    for (const auto& [key, value] : json.members()) {
      fmt::print("{:<18}{}\n", key, value.is_string() ? *value.AsString() : value.Dump());
    }
    return absl::OkStatus();
  }

 private:
  std::string what_;
  std::string parameters_ = "compact";
  uint64_t dimension_ = 486654;
  uint64_t participants_ = 1000;
  uint64_t plaintext_bits_ = 22;
  uint64_t repetitions_ = 9;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace tacet::app

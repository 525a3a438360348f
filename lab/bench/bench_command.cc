#include "lab/bench/bench_command.h"

#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "lab/bench/bench_dp.h"
#include "lab/bench/bench_he.h"
#include "lab/bench/bench_kernels.h"
#include "lab/bench/bench_pair_keys.h"
#include "lab/bench/bench_privacy.h"
#include "lab/bench/bench_records.h"
#include "lab/bench/bench_statistics.h"
#include "lab/bench/bench_train.h"
#include "lab/bench/machine_rates.h"
#include "tacet/base/cpu.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"

namespace tacet::app::bench {
namespace {

class BenchCommand : public program::Command {
 public:
  std::string_view name() const override { return "bench"; }
  std::string_view summary() const override {
    return "benchmark of this machine: clipping, noise, sealing, adding and decrypting on one "
           "core, and local training";
  }

  void Register(program::Options& options) override {
    options.AddPositional(
        "what",
        "he: encryption and everything around it; dp: clipping, noise and "
        "quantisation; train: local training; kernels: the inner loops in every "
        "instruction set; records: clipping every record or person; "
        "pair-keys: an epoch's keys of clients and seats; "
        "privacy: guarantees, keyed digests, sketches of rows; "
        "statistics: accuracy of queries on real tables",
        {"he", "dp", "train", "kernels", "records", "pair-keys", "privacy", "statistics"}, true,
        &flags_.what);
    options.AddString("data",
                      "statistics: folder with survival/ and heart-disease/; when not given, "
                      "$TACET_DATA",
                      &flags_.data);
    options.AddChoice(
        "part", "statistics: one part of it; all when not given",
        {"bins", "survival", "log-rank", "coverage", "models", "logistic", "poisson", "cox", "auc"},
        &flags_.part);
    options.AddChoice("parameters", "he: encryption scheme",
                      {"compact", "paper", "paper-secret-key"}, &flags_.parameters);
    options.AddUint("dimension", "d, values of an update", &flags_.dimension);
    options.AddUint("participants", "he: K, uploads to add; pair-keys: members",
                    &flags_.participants);
    options.AddUint("plaintext-bits", "he: w, bits of a sum", &flags_.plaintext_bits);
    options.AddString("committee",
                      "he, pair-keys: seats and corrupt seats of the committee, for example 7,2",
                      &flags_.committee);
    options.AddDouble("rate", "dp: mean of the Poisson rates", &flags_.rate);
    options.AddChoice("model", "train: model, on images of 28 x 28 in 62 classes",
                      {"femnist-cnn", "femnist-cnn-norm", "mlp", "logistic"}, &flags_.model);
    options.AddUint("batch", "train: samples in a step", &flags_.batch);
    options.AddUint("threads", "train: number of threads, each with its own model",
                    &flags_.threads);
    options.AddChoice("precision", "train: number format of products", {"auto", "f32", "bf16"},
                      &flags_.precision);
    options.AddChoice("input",
                      "train: synthetic handwriting, four fifths of it blank, which femnist-cnn "
                      "computes once; or noise, without blank regions",
                      {"handwriting", "noise"}, &flags_.input);
    options.AddUint("repetitions",
                    "number of runs; the median is printed (statistics: releases, 200 when not "
                    "given)",
                    &flags_.repetitions);
    options.AddFlag("json", "print JSON", &flags_.json);
  }

  absl::Status Run() override {
    constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
    for (const auto& [flag, value] :
         {std::pair{"dimension", flags_.dimension}, std::pair{"participants", flags_.participants},
          std::pair{"plaintext-bits", flags_.plaintext_bits}, std::pair{"batch", flags_.batch},
          std::pair{"threads", flags_.threads}, std::pair{"repetitions", repetitions()}}) {
      if (value < 1 || value > kMax) {
        return base::InvalidArgument("--{} is {}, it must be from 1 to {}", flag, value, kMax);
      }
    }
    if (flags_.what == "kernels") return RunKernels();
    if (flags_.what == "records") return RunRecords();
    if (flags_.what == "statistics") return RunStatistics();
    base::JsonValue json = base::JsonValue::MakeObject();
    if (flags_.what == "dp") {
      TACET_RETURN_IF_ERROR(RunDp(json));
    } else if (flags_.what == "train") {
      TACET_RETURN_IF_ERROR(RunTrain(json));
    } else if (flags_.what == "pair-keys") {
      TACET_RETURN_IF_ERROR(RunPairKeys(json));
    } else if (flags_.what == "privacy") {
      TACET_RETURN_IF_ERROR(RunPrivacy(json));
    } else {
      TACET_RETURN_IF_ERROR(RunHe(json));
    }
    if (flags_.json) {
      fmt::print("{}\n", json.Dump(2));
      return absl::OkStatus();
    }
    for (const auto& [key, value] : json.members()) {
      if (value.is_object()) {
        for (const auto& [figure, limit] : value.members()) {
          fmt::print("  {:<24}{}\n", figure, limit.Dump());
        }
        continue;
      }
      fmt::print("{:<26}{}\n", key, value.is_string() ? *value.AsString() : value.Dump());
    }
    return absl::OkStatus();
  }

 private:
  uint64_t repetitions() const { return flags_.repetitions.value_or(9); }

  static void SetMachine(base::JsonValue& json) {
    json.Set("cpu", base::CpuModelName()).Set("simd", base::SimdName(base::ActiveSimd()));
  }

  // The machine's rates, and what each figure could be at least: `share` is that limit over the
  // figure.
  struct Figure {
    std::string_view name;
    double seconds;
    Demand demand;
  };
  static void SetLimits(std::initializer_list<Figure> figures, base::JsonValue& json) {
    const MachineRates rates = MeasureMachineRates();
    json.Set("memory_read_bytes_per_s", rates.memory_read)
        .Set("aes_ctr_bytes_per_s", rates.aes_ctr)
        .Set("fma_per_s", rates.fma);
    base::JsonValue limits = base::JsonValue::MakeObject();
    for (const Figure& figure : figures) {
      const double least = LeastSeconds(figure.demand, rates);
      base::JsonValue limit = base::JsonValue::MakeObject();
      limit.Set("limit_s", least).Set("share", least / figure.seconds);
      limits.Set(figure.name, std::move(limit));
    }
    json.Set("limits", std::move(limits));
  }

  absl::Status RunHe(base::JsonValue& json) const {
    BenchHeSpec spec;
    for (const he::Scheme scheme :
         {he::Scheme::kCompact, he::Scheme::kPaperPublicKey, he::Scheme::kPaperSecretKey}) {
      if (flags_.parameters == he::SchemeName(scheme)) spec.scheme = scheme;
    }
    spec.dimension = flags_.dimension;
    spec.participants = static_cast<uint32_t>(flags_.participants);
    spec.plaintext_bits = static_cast<uint32_t>(flags_.plaintext_bits);
    spec.repetitions = static_cast<uint32_t>(repetitions());
    TACET_ASSIGN_OR_RETURN(spec.committee, he::ParseCommittee(flags_.committee));
    TACET_ASSIGN_OR_RETURN(const BenchHeResult result, BenchHe(spec));
    json.Set("parameters", flags_.parameters)
        .Set("dimension", flags_.dimension)
        .Set("participants", flags_.participants)
        .Set("plaintext_bits", flags_.plaintext_bits);
    SetMachine(json);
    json.Set("setup_s", result.setup_s)
        .Set("encode_s", result.encode_s)
        .Set("encrypt_s", result.encrypt_s)
        .Set("encode_encrypt_s", result.encode_encrypt_s)
        .Set("seal_s", result.seal_s)
        .Set("aggregate_s", result.aggregate_s)
        .Set("aggregate_two_cores_s", result.aggregate_two_cores_s)
        .Set("decrypt_s", result.decrypt_s)
        .Set("committee", flags_.committee)
        .Set("share_s", result.share_s)
        .Set("unmask_s", result.unmask_s)
        .Set("recover_s", result.recover_s)
        .Set("upload_bytes", result.upload_bytes)
        .Set("sum_bytes", result.sum_bytes)
        .Set("peak_rss_bytes", result.peak_rss_bytes)
        .Set("peak_beyond_update_bytes", result.peak_beyond_update_bytes)
        .Set("streamed", result.streamed)
        .Set("wrong_values", result.wrong_values);
    SetLimits({{"encode_encrypt_s", result.encode_encrypt_s, result.encode_encrypt},
               {"seal_s", result.seal_s, result.seal},
               {"aggregate_s", result.aggregate_s, result.aggregate},
               {"decrypt_s", result.decrypt_s, result.decrypt}},
              json);
    return absl::OkStatus();
  }

  absl::Status RunDp(base::JsonValue& json) const {
    TACET_ASSIGN_OR_RETURN(const BenchDpResult result,
                           BenchDp({.dimension = flags_.dimension,
                                    .rate = flags_.rate,
                                    .repetitions = static_cast<uint32_t>(repetitions())}));
    json.Set("dimension", flags_.dimension).Set("rate", flags_.rate);
    SetMachine(json);
    json.Set("clip_s", result.clip_s)
        .Set("gaussian_s", result.gaussian_s)
        .Set("poisson_s", result.poisson_s)
        .Set("noise_and_quantise_s", result.noise_and_quantise_s);
    SetLimits({{"clip_s", result.clip_s, result.clip},
               {"gaussian_s", result.gaussian_s, result.gaussian},
               {"poisson_s", result.poisson_s, result.poisson},
               {"noise_and_quantise_s", result.noise_and_quantise_s, result.noise_and_quantise}},
              json);
    return absl::OkStatus();
  }

  absl::Status RunTrain(base::JsonValue& json) const {
    BenchTrainSpec spec;
    spec.model = flags_.model;
    spec.batch = static_cast<uint32_t>(flags_.batch);
    spec.threads = static_cast<uint32_t>(flags_.threads);
    TACET_ASSIGN_OR_RETURN(spec.precision, models::ParsePrecision(flags_.precision));
    spec.noise = flags_.input == "noise";
    spec.repetitions = static_cast<uint32_t>(repetitions());
    TACET_ASSIGN_OR_RETURN(const BenchTrainResult result, BenchTrain(spec));
    json.Set("model", flags_.model)
        .Set("batch", flags_.batch)
        .Set("threads", flags_.threads)
        .Set("precision", flags_.precision)
        .Set("input", flags_.input)
        .Set("form", result.form)
        .Set("dimension", result.dimension);
    SetMachine(json);
    json.Set("samples_per_s", result.samples_per_s)
        .Set("elapsed_samples_per_s", result.elapsed_samples_per_s)
        .Set("evaluated_samples_per_s", result.evaluated_per_s)
        .Set("flop_per_sample", result.flop_per_sample)
        .Set("gflops", result.gflops)
        .Set("fma_peak_gflops", result.fma_peak_gflops)
        .Set("share", result.share);
    return absl::OkStatus();
  }

  absl::Status RunPairKeys(base::JsonValue& json) const {
    BenchPairKeysSpec spec;
    spec.members = static_cast<uint32_t>(flags_.participants);
    spec.dimension = flags_.dimension;
    spec.repetitions = static_cast<uint32_t>(repetitions());
    TACET_ASSIGN_OR_RETURN(spec.committee, he::ParseCommittee(flags_.committee));
    TACET_ASSIGN_OR_RETURN(const BenchPairKeysResult result, BenchPairKeys(spec));
    json.Set("committee", flags_.committee)
        .Set("participants", flags_.participants)
        .Set("dimension", flags_.dimension);
    SetMachine(json);
    json.Set("client_setup_s", result.client_setup_s)
        .Set("seat_setup_s", result.seat_setup_s)
        .Set("seal_s", result.seal_s)
        .Set("seal_more_s", result.seal_more_s);
    return absl::OkStatus();
  }

  absl::Status RunPrivacy(base::JsonValue& json) const {
    TACET_ASSIGN_OR_RETURN(const BenchPrivacyResult result,
                           BenchPrivacy(flags_.dimension, static_cast<uint32_t>(repetitions())));
    json.Set("dimension", flags_.dimension);
    SetMachine(json);
    json.Set("row_sketch_s", result.row_sketch_s)
        .Set("many_rounds_s", result.many_rounds_s)
        .Set("absent_clients_s", result.absent_clients_s)
        .Set("model_digest_s", result.model_digest_s);
    return absl::OkStatus();
  }

  absl::Status RunKernels() const {
    TACET_ASSIGN_OR_RETURN(const std::vector<KernelTimes> rows,
                           BenchKernels(static_cast<uint32_t>(repetitions())));
    if (!flags_.json) {
      for (const KernelTimes& row : rows) {
        fmt::print("{} (per {})\n", row.name, row.per);
        for (const auto& [target, seconds] : row.seconds) {
          fmt::print("  {:<14}{:>12.5g} ns\n", base::TargetName(target), 1e9 * seconds);
        }
      }
      return absl::OkStatus();
    }
    base::JsonValue kernels = base::JsonValue::MakeArray();
    for (const KernelTimes& row : rows) {
      base::JsonValue seconds = base::JsonValue::MakeObject();
      for (const auto& [target, value] : row.seconds) seconds.Set(base::TargetName(target), value);
      base::JsonValue kernel = base::JsonValue::MakeObject();
      kernel.Set("name", row.name).Set("per", row.per).Set("seconds", std::move(seconds));
      kernels.Append(std::move(kernel));
    }
    base::JsonValue json = base::JsonValue::MakeObject();
    SetMachine(json);
    json.Set("kernels", std::move(kernels));
    fmt::print("{}\n", json.Dump(2));
    return absl::OkStatus();
  }

  absl::Status RunStatistics() const {
    const char* folder = std::getenv("TACET_DATA");
    BenchStatisticsSpec spec{.data = flags_.data.value_or(folder != nullptr ? folder : "")};
    if (spec.data.empty()) {
      return base::InvalidArgument(
          "--data is missing: the folder that holds survival/lung.csv and heart-disease/");
    }
    spec.runs = flags_.repetitions.value_or(spec.runs);
    spec.part = flags_.part;
    TACET_ASSIGN_OR_RETURN(base::JsonValue json, BenchStatistics(spec));
    SetMachine(json);
    fmt::print("{}\n", json.Dump(2));
    return absl::OkStatus();
  }

  absl::Status RunRecords() const {
    TACET_ASSIGN_OR_RETURN(const std::vector<RecordTimes> rows,
                           BenchRecords(static_cast<uint32_t>(repetitions())));
    if (!flags_.json) {
      fmt::print("microseconds a sample\n{:<14}{:>7}{:>9}{:>10}{:>10}{:>10}\n", "model", "inputs",
                 "classes", "plain", "record", "person");
      for (const RecordTimes& row : rows) {
        fmt::print("{:<14}{:>7}{:>9}{:>10.4g}{:>10.4g}{:>10.4g}\n", row.model, row.inputs,
                   row.classes, 1e6 * row.plain_s, 1e6 * row.record_s, 1e6 * row.person_s);
      }
      return absl::OkStatus();
    }
    base::JsonValue records = base::JsonValue::MakeArray();
    for (const RecordTimes& row : rows) {
      base::JsonValue record = base::JsonValue::MakeObject();
      record.Set("model", row.model)
          .Set("inputs", row.inputs)
          .Set("classes", row.classes)
          .Set("plain_s", row.plain_s)
          .Set("record_s", row.record_s)
          .Set("person_s", row.person_s);
      records.Append(std::move(record));
    }
    base::JsonValue json = base::JsonValue::MakeObject();
    SetMachine(json);
    json.Set("records", std::move(records));
    fmt::print("{}\n", json.Dump(2));
    return absl::OkStatus();
  }

  struct Flags {
    std::string what;
    std::string model = "femnist-cnn";
    std::string precision = "auto";
    std::string input = "handwriting";
    uint64_t batch = 20;
    uint64_t threads = 1;
    std::string parameters = "compact";
    std::string committee = "5,2";
    uint64_t dimension = 486654;
    uint64_t participants = 1000;
    uint64_t plaintext_bits = 22;
    double rate = 26277;
    std::optional<uint64_t> repetitions;
    std::optional<std::string> data;
    std::string part;
    bool json = false;
  };
  Flags flags_;
};

}  // namespace

std::unique_ptr<program::Command> NewBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace tacet::app::bench

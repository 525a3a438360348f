#include "tacet/site/app_link.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "tacet/base/float_bytes.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet::site {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kMostWait(5);
constexpr std::chrono::milliseconds kLookAgain(100);
constexpr size_t kNumberBytes = 2 * sizeof(uint32_t);  // round, attempt
constexpr uint32_t kNoUnits = std::numeric_limits<uint32_t>::max();

}  // namespace

base::Bytes FrameOf(AppFrame kind, std::span<const uint8_t> payload) {
  base::ByteWriter writer;
  writer.Reserve(sizeof(uint32_t) + 1 + payload.size());
  writer.U32(static_cast<uint32_t>(payload.size() + 1));
  writer.U8(static_cast<uint8_t>(kind));
  writer.Raw(payload);
  return writer.Take();
}

std::string ErrorJson(std::string_view text) {
  return base::JsonValue::MakeObject().Set("error", text).Dump();
}

AppLink::AppLink(uint64_t dimension, std::string configuration, std::function<bool()> stop)
    : dimension_(dimension),
      configuration_(std::move(configuration)),
      stop_(std::move(stop)),
      wire_([this] {
        const base::MutexLock lock(mutex_);
        changed_.SignalAll();
      }) {}

absl::Status AppLink::Train(const AppTask& task, std::span<float> update) {
  const base::MutexLock lock(mutex_);
  open_.emplace(Open{.task = task, .update = update});
  changed_.SignalAll();
  while (!open_->result.has_value() && !stop_()) {
    changed_.WaitUntil(mutex_, steady_clock::now() + kLookAgain);
  }
  absl::Status result = open_->result.value_or(absl::CancelledError("the member is ending"));
  open_.reset();
  return result;
}

void AppLink::End(std::string json) {
  const base::MutexLock lock(mutex_);
  ended_ = std::move(json);
  changed_.SignalAll();
}

bool AppLink::told() const {
  const base::MutexLock lock(mutex_);
  return told_;
}

std::optional<size_t> AppLink::MostBytes(uint8_t kind) const {
  switch (static_cast<AppFrame>(kind)) {
    case AppFrame::kExchange:
      return transport::relay::kMaxBundleBytes;
    case AppFrame::kTrained:
      return kNumberBytes + dimension_ * sizeof(float);
    case AppFrame::kFailed:
      return kNumberBytes;
    default:
      return std::nullopt;
  }
}

absl::Status AppLink::Take(uint8_t kind, std::span<const uint8_t> payload) {
  switch (static_cast<AppFrame>(kind)) {
    case AppFrame::kExchange:
      Lost();  // an app that asks for more while it is to train has given that up
      wire_.Deliver(payload);
      return absl::OkStatus();
    case AppFrame::kTrained:
      return TakeTrained(payload, /*failed=*/false);
    case AppFrame::kFailed:
      return TakeTrained(payload, /*failed=*/true);
    default:
      return base::DataLoss("app: there is no frame {}", kind);
  }
}

absl::Status AppLink::TakeTrained(std::span<const uint8_t> payload, bool failed) {
  base::ByteReader reader(payload, "app: frame of a training");
  TACET_ASSIGN_OR_RETURN(const uint32_t round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(const uint32_t attempt, reader.ReadU32("attempt"));
  const size_t expected = failed ? 0 : dimension_ * sizeof(float);
  TACET_ASSIGN_OR_RETURN(const auto values, reader.ReadBytes(expected, "update"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  const base::MutexLock lock(mutex_);
  Open* const open = Given(round, attempt);
  if (open == nullptr) return absl::OkStatus();  // too late
  if (failed) {
    open->result = absl::FailedPreconditionError(
        "the app's training failed: its own output at this site says why");
  } else {
    std::memcpy(open->update.data(), values.data(), values.size());
    open->result = absl::OkStatus();
  }
  changed_.SignalAll();
  return absl::OkStatus();
}

AppLink::Open* AppLink::Given(uint32_t round, uint32_t attempt) {
  const bool given = open_.has_value() && open_->given && !open_->result.has_value() &&
                     open_->task.round == round && open_->task.attempt == attempt;
  return given ? &*open_ : nullptr;
}

base::Bytes AppLink::TrainFrame(const AppTask& task) const {
  base::ByteWriter writer;
  writer.U32(task.round);
  writer.U32(task.attempt);
  writer.F64(task.clip_norm.value_or(std::numeric_limits<double>::quiet_NaN()));
  writer.U32(task.units.has_value() ? static_cast<uint32_t>(task.units->size()) : kNoUnits);
  for (const uint32_t unit : task.units.value_or(std::span<const uint32_t>())) writer.U32(unit);
  writer.Blob(configuration_);
  writer.Raw(base::FloatBytes(task.model));
  return FrameOf(AppFrame::kTrain, writer.bytes());
}

base::Bytes AppLink::Next(const std::function<bool()>& gone) {
  const auto end = steady_clock::now() + kMostWait;
  const base::MutexLock lock(mutex_);
  while (true) {
    if (open_.has_value() && !open_->given) {
      open_->given = true;
      return TrainFrame(open_->task);
    }
    if (const std::optional<base::Bytes> requests = wire_.Take(); requests.has_value()) {
      return FrameOf(AppFrame::kRequests, *requests);
    }
    if (ended_.has_value()) {
      told_ = true;
      return FrameOf(AppFrame::kEnded, base::AsBytes(*ended_));
    }
    const auto now = steady_clock::now();
    if (now >= end || gone() || stop_()) {
      return FrameOf(AppFrame::kRequests, transport::relay::WriteRequests({}));
    }
    changed_.WaitUntil(mutex_, now + kLookAgain);
  }
}

void AppLink::Lost() {
  const base::MutexLock lock(mutex_);
  if (!open_.has_value() || !open_->given || open_->result.has_value()) return;
  open_->result = absl::AbortedError(
      "the app went away during the training: zeros take the place of this attempt's update");
  changed_.SignalAll();
}

}  // namespace tacet::site

// Meeting point of a member and the app of another framework at its site: the app fetches requests
// and trainings, and brings answers and updates (docs/formats/frameworks.md).
#ifndef TACET_SITE_APP_LINK_H_
#define TACET_SITE_APP_LINK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/transport/relay/relay_wire.h"

namespace tacet::site {

// Kinds of frames; the numbers are part of the format.
enum class AppFrame : uint8_t {
  kExchange = 1,
  kTrained = 2,
  kFailed = 3,
  kRequests = 16,
  kTrain = 17,
  kEnded = 18,
};

// One training that is asked of the app.
struct AppTask {
  uint32_t round = 0;
  uint32_t attempt = 0;
  std::span<const float> model;
  // With unit record or person: the drawn units, and the norm to which each one's part is clipped.
  std::optional<std::span<const uint32_t>> units = std::nullopt;
  std::optional<double> clip_norm = std::nullopt;
};

// Thread-safe. The member has one thread here, and the app one connection at a time. The app's
// bytes are hostile: it is another user's code.
class AppLink {
 public:
  // `configuration`, the JSON object on which all sites agreed, comes with every training.
  // `stop`: whether the member is to end, asked several times a second.
  AppLink(uint64_t dimension, std::string configuration, std::function<bool()> stop);

  protocol::Wire& wire() { return wire_; }

  // Waits for the app to train, once. Aborted when the app went away meanwhile; FailedPrecondition
  // when it says that it failed; Cancelled when the member is to end.
  absl::Status Train(const AppTask& task, std::span<float> update);
  // Hereafter the app is told this JSON object, once it has taken every request away.
  void End(std::string json);
  // Whether the app was told.
  bool told() const;

  // The most bytes behind the kind of a frame of this kind; nothing for a kind that no app sends.
  std::optional<size_t> MostBytes(uint8_t kind) const;
  // A frame of the app. DataLoss, after which the connection has to end, when it is none.
  absl::Status Take(uint8_t kind, std::span<const uint8_t> payload);
  // The frame that answers it, with its length: at the latest after five seconds, and when `gone`,
  // which is asked several times a second, says that nobody waits for it.
  base::Bytes Next(const std::function<bool()>& gone);
  // The app's connection has ended.
  void Lost();

 private:
  struct Open {
    const AppTask& task;
    std::span<float> update;
    bool given = false;  // to the app
    std::optional<absl::Status> result = std::nullopt;
  };

  // The training that was given to the app and has no result; null for another one or none.
  Open* Given(uint32_t round, uint32_t attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TakeTrained(std::span<const uint8_t> payload, bool failed);
  base::Bytes TrainFrame(const AppTask& task) const;

  const uint64_t dimension_;
  const std::string configuration_;
  const std::function<bool()> stop_;
  transport::relay::RelayWire wire_;

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::optional<Open> open_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> ended_ ABSL_GUARDED_BY(mutex_);
  bool told_ ABSL_GUARDED_BY(mutex_) = false;
};

// Length of what follows, kind, payload.
base::Bytes FrameOf(AppFrame kind, std::span<const uint8_t> payload);
// {"error": text}, for the site's own log.
std::string ErrorJson(std::string_view text);

}  // namespace tacet::site

#endif  // TACET_SITE_APP_LINK_H_

#include "tacet/host/server_metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <map>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "tacet/base/mutex.h"
#include "tacet/base/process_cost.h"

namespace tacet::host {

using protocol::AttemptPhase;
using transport::http::HandshakeFault;

namespace {

constexpr size_t kMaxNamedMembers = 100;
constexpr std::array kPhases = {AttemptPhase::kCollecting, AttemptPhase::kUnmasking,
                                AttemptPhase::kPublished, AttemptPhase::kFailed};

constexpr std::array kObjectionReasons = {
    protocol::ObjectionReason::kRollback, protocol::ObjectionReason::kFork,
    protocol::ObjectionReason::kNoClosedRound, protocol::ObjectionReason::kMayHaveVoted};
constexpr std::array kHandshakeFaults = {HandshakeFault::kCertificateEnded,
                                         HandshakeFault::kCertificateNotYetValid,
                                         HandshakeFault::kNotAMember,
                                         HandshakeFault::kOtherCertificate,
                                         HandshakeFault::kNoCertificate,
                                         HandshakeFault::kAlert,
                                         HandshakeFault::kBroken};

// Ranges from a round of a laboratory to one that waits for hospitals over a night.
const prometheus::Histogram::BucketBoundaries kPhaseSeconds = {
    0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600};

}  // namespace

std::string StatusWord(absl::StatusCode code) {
  std::string word = absl::StatusCodeToString(code);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

struct ServerMetrics::Impl {
  template <typename Metric>
  using Family = prometheus::Family<Metric>;
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  using Histogram = prometheus::Histogram;

  Family<Counter>& MakeCounters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Family<Gauge>& MakeGauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  Counter& MakeCounter(const char* name, const char* help) {
    return MakeCounters(name, help).Add({});
  }
  Gauge& MakeGauge(const char* name, const char* help) { return MakeGauges(name, help).Add({}); }

  prometheus::Registry registry;
  Family<Counter>& requests =
      MakeCounters("tacet_requests_total", "Requests of members, by kind and status.");
  Counter& received = MakeCounter("tacet_received_bytes_total", "Bytes of members' requests.");
  Counter& sent = MakeCounter("tacet_sent_bytes_total", "Bytes of answers to members.");
  Counter& accepted = MakeCounter("tacet_uploads_accepted_total",
                                  "Uploads that went into a sum since this process began.");
  Family<Counter>& refused =
      MakeCounters("tacet_uploads_refused_total",
                   "Parts of uploads, unmask shares and checkpoints that were refused, by reason.");
  Family<Counter>& failed = MakeCounters(
      "tacet_failed_attempts_total", "Attempts that failed since the federation began, by reason.");
  Counter& published = MakeCounter("tacet_published_attempts_total",
                                   "Attempts that were published since the federation began.");
  Counter& store_errors =
      MakeCounter("tacet_store_errors_total", "Calls of the store that failed.");
  Gauge& attempts = MakeGauge("tacet_attempts",
                              "Attempts begun since the federation began: members' ledgers "
                              "are charged for each.");
  Gauge& finished = MakeGauge("tacet_finished_rounds", "Rounds that are published.");
  Gauge& round =
      MakeGauge("tacet_round", "Round of the last attempt, from 0; -1 before the first.");
  Gauge& attempt = MakeGauge("tacet_attempt",
                             "Number of the last attempt in its round, from 0; -1 "
                             "before the first.");
  Gauge& deadline = MakeGauge("tacet_phase_deadline_seconds",
                              "When the phase ends, Unix time; 0 when none is "
                              "open.");
  Gauge& age = MakeGauge("tacet_attempt_age_seconds",
                         "Seconds since the open attempt began; 0 when none is open.");
  Gauge& extensions =
      MakeGauge("tacet_attempt_extensions",
                "Times that the open attempt's deadline was moved; 0 when none is open.");
  Family<Gauge>& objections = MakeGauges(
      "tacet_objections", "Members that do not act on what is announced now, by reason.");
  Family<Gauge>& problems = MakeGauges("tacet_problem", "1 for each problem that /readyz shows.");
  Family<Counter>& refused_handshakes = MakeCounters(
      "tacet_refused_handshakes_total", "TLS handshakes that ended before a request, by reason.");
  Gauge& invited = MakeGauge("tacet_invited",
                             "Members invited to the last attempt; 0 when each "
                             "decides by a coin of its own.");
  Gauge& uploads = MakeGauge("tacet_uploads", "Uploads in the sum of the last attempt so far.");
  Gauge& stopped = MakeGauge("tacet_stopped", "1 when no attempt will follow under this manifest.");
  Gauge& draining = MakeGauge("tacet_draining", "1 when this process begins no further attempt.");
  Gauge& ready = MakeGauge("tacet_ready", "1 when /readyz says so.");
  Gauge& waiting = MakeGauge("tacet_waiting_for_members",
                             "1 while no attempt begins because members are absent.");
  Gauge& here = MakeGauge("tacet_members_here", "Members that are connected.");
  Gauge& needed = MakeGauge("tacet_members_needed",
                            "Members that the next attempt needs; 0 unless it waits for them.");
  Gauge& seats_here = MakeGauge("tacet_seats_here",
                                "Committee members that are connected; 0 unless an attempt waits.");
  Gauge& seats_needed = MakeGauge(
      "tacet_seats_needed", "Committee members that the next attempt needs; 0 unless it waits.");
  Family<Gauge>& away_since = MakeGauges(
      "tacet_member_away_since_timestamp_seconds",
      "Last request of a member that is absent, or 1 when there was none since the start, "
      "Unix time; 0 when it is here, and while an attempt is open.");
  Family<Gauge>& calls =
      MakeGauges("tacet_calls", "Calls of members now: at work, parked until there is news.");
  Gauge& calls_working = calls.Add({{"state", "working"}});
  Gauge& calls_parked = calls.Add({{"state", "parked"}});
  Family<Gauge>& connections = MakeGauges(
      "tacet_connections", "Connections now, of members and of those that showed no certificate.");
  Gauge& connections_members = connections.Add({{"of", "members"}});
  Gauge& connections_strangers = connections.Add({{"of", "strangers"}});
  Counter& failed_handshakes =
      MakeCounter("tacet_failed_handshakes_total", "Connections that ended before a request.");
  Counter& replaced = MakeCounter("tacet_replaced_connections_total",
                                  "Connections that had to go because of a cap.");
  Family<Gauge>& phase_family =
      MakeGauges("tacet_phase", "1 for the phase of the last attempt, 0 for the others.");
  Family<Histogram>& phase_seconds = prometheus::BuildHistogram()
                                         .Name("tacet_phase_seconds")
                                         .Help("How long phases of attempts took.")
                                         .Register(registry);
  Gauge& certificate = MakeGauge("tacet_certificate_expiry_seconds",
                                 "Seconds until the server's certificate ends; negative after it.");
  Gauge& memory =
      MakeGauge("process_resident_memory_bytes", "Resident memory of the process in bytes.");
  Counter& cpu ABSL_GUARDED_BY(mutex) = MakeCounter(
      "process_cpu_seconds_total", "User and system time that the process has used, in seconds.");

  base::Mutex mutex;  // of what follows
  std::map<std::pair<std::string, std::string>, uint64_t> counted ABSL_GUARDED_BY(mutex);
  std::atomic<uint64_t> certificate_end = 0;
  std::atomic<uint64_t> begun = 0;  // of the open attempt, Unix seconds; 0: none is open
};

ServerMetrics::ServerMetrics() : impl_(std::make_unique<Impl>()) {
  // A figure that is there from the beginning can be looked at before anything goes wrong.
  for (const AttemptPhase phase : kPhases) {
    impl_->phase_family.Add({{"phase", std::string(AttemptPhaseName(phase))}});
  }
  for (const ProblemKind& kind : ProblemKinds()) {
    impl_->problems.Add({{"code", std::string(kind.name)}}).Set(0);
  }
  for (const protocol::ObjectionReason reason : kObjectionReasons) {
    impl_->objections.Add({{"reason", std::string(ObjectionReasonName(reason))}}).Set(0);
  }
  for (const HandshakeFault fault : kHandshakeFaults) {
    impl_->refused_handshakes.Add({{"reason", std::string(HandshakeFaultName(fault))}});
  }
  impl_->round.Set(-1);
  impl_->attempt.Set(-1);
}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::CountRequest(std::string_view kind, const absl::Status& status,
                                 size_t request_bytes, size_t answer_bytes) {
  const std::string word = StatusWord(status.code());
  impl_->requests.Add({{"kind", std::string(kind)}, {"status", word}}).Increment();
  impl_->received.Increment(static_cast<double>(request_bytes));
  impl_->sent.Increment(static_cast<double>(answer_bytes));
  if (status.code() == absl::StatusCode::kUnavailable) CountStoreError();
  if (kind == "put-part" && !status.ok()) impl_->refused.Add({{"reason", word}}).Increment();
  const base::MutexLock lock(impl_->mutex);
  ++impl_->counted[{std::string(kind), word}];
}

void ServerMetrics::CountStoreError() { impl_->store_errors.Increment(); }

void ServerMetrics::CountAccepted(uint64_t uploads) {
  impl_->accepted.Increment(static_cast<double>(uploads));
}

void ServerMetrics::CountEnded(std::string_view failure) {
  if (failure.empty()) {
    impl_->published.Increment();
  } else {
    impl_->failed.Add({{"reason", std::string(failure)}}).Increment();
  }
}

void ServerMetrics::ObservePhase(AttemptPhase phase, double seconds) {
  impl_->phase_seconds.Add({{"phase", std::string(AttemptPhaseName(phase))}}, kPhaseSeconds)
      .Observe(seconds);
}

void ServerMetrics::SetStatus(const tacet::server::ServerStatus& status) {
  Impl& all = *impl_;
  all.attempts.Set(static_cast<double>(status.attempts));
  all.finished.Set(status.finished);
  all.invited.Set(status.invited);
  all.uploads.Set(status.accepted);
  all.stopped.Set(status.stopped.empty() ? 0 : 1);
  all.draining.Set(status.draining ? 1 : 0);
  all.extensions.Set(status.extensions);
  for (const protocol::ObjectionReason reason : kObjectionReasons) {
    all.objections.Add({{"reason", std::string(ObjectionReasonName(reason))}})
        .Set(static_cast<double>(
            std::ranges::count(status.objections, reason, &protocol::Objection::reason)));
  }
  all.begun = 0;
  if (!status.last.has_value()) return;
  const tacet::server::AttemptRecord& last = *status.last;
  all.round.Set(last.attempt.number.round);
  all.attempt.Set(last.attempt.number.attempt);
  const bool open =
      last.phase == AttemptPhase::kCollecting || last.phase == AttemptPhase::kUnmasking;
  all.deadline.Set(open ? static_cast<double>(last.deadline) : 0);
  all.begun = open ? last.begun : 0;
  for (const AttemptPhase phase : kPhases) {
    all.phase_family.Add({{"phase", std::string(AttemptPhaseName(phase))}})
        .Set(phase == last.phase ? 1 : 0);
  }
}

void ServerMetrics::SetAttendance(const tacet::server::ServerStatus& status,
                                  const agreement::SignedManifest& manifest) {
  Impl& all = *impl_;
  const tacet::server::Gathering gathering = status.gathering.value_or(tacet::server::Gathering());
  all.waiting.Set(status.gathering.has_value() && !gathering.enough() ? 1 : 0);
  all.here.Set(static_cast<double>(status.here));
  all.needed.Set(static_cast<double>(gathering.needed));
  all.seats_here.Set(static_cast<double>(gathering.seats_here));
  all.seats_needed.Set(static_cast<double>(gathering.seats_needed));
  const size_t members = manifest.members().size();
  if (members > kMaxNamedMembers) return;
  // While an attempt is open, silence would tell who trains.
  std::vector<double> since(members, 0.0);
  if (status.waiting) {
    for (const tacet::server::Absence& absence : status.awaited) {
      since[absence.member] = static_cast<double>(absence.last_seen.value_or(1));
    }
  }
  for (uint64_t member = 0; member < members; ++member) {
    all.away_since.Add({{"member", manifest.members()[member].name}}).Set(since[member]);
  }
}

void ServerMetrics::SetProblems(std::span<const Problem> problems) {
  impl_->ready.Set(AnyStops(problems) ? 0 : 1);
  for (const ProblemKind& kind : ProblemKinds()) {
    const bool is_there = std::ranges::find(problems, kind.code, &Problem::code) != problems.end();
    impl_->problems.Add({{"code", std::string(kind.name)}}).Set(is_there ? 1 : 0);
  }
}

void ServerMetrics::CountRefusedHandshake(HandshakeFault fault) {
  impl_->refused_handshakes.Add({{"reason", std::string(HandshakeFaultName(fault))}}).Increment();
}

void ServerMetrics::SetLoad(const transport::http::HttpServerLoad& load) {
  Impl& all = *impl_;
  all.calls_working.Set(static_cast<double>(load.working));
  all.calls_parked.Set(static_cast<double>(load.parked));
  all.connections_members.Set(static_cast<double>(load.connections - load.strangers));
  all.connections_strangers.Set(static_cast<double>(load.strangers));
  const auto raise = [](prometheus::Counter& counter, uint64_t to) {
    counter.Increment(std::max(0.0, static_cast<double>(to) - counter.Value()));
  };
  raise(all.failed_handshakes, load.failed_handshakes);
  raise(all.replaced, load.replaced);
}

void ServerMetrics::SetCertificateEnd(uint64_t not_after) { impl_->certificate_end = not_after; }

std::vector<CountedRequests> ServerMetrics::requests() const {
  const base::MutexLock lock(impl_->mutex);
  std::vector<CountedRequests> all;
  for (const auto& [what, count] : impl_->counted) {
    all.push_back({.kind = what.first, .status = what.second, .count = count});
  }
  return all;
}

uint64_t ServerMetrics::bytes_received() const {
  return static_cast<uint64_t>(impl_->received.Value());
}
uint64_t ServerMetrics::bytes_sent() const { return static_cast<uint64_t>(impl_->sent.Value()); }
uint64_t ServerMetrics::store_errors() const {
  return static_cast<uint64_t>(impl_->store_errors.Value());
}
uint64_t ServerMetrics::certificate_end() const { return impl_->certificate_end; }

std::string ServerMetrics::Text(uint64_t now) {
  Impl& all = *impl_;
  const auto end = static_cast<double>(all.certificate_end.load());
  all.certificate.Set(end - static_cast<double>(now));
  const uint64_t begun = all.begun;
  all.age.Set(begun == 0 ? 0 : static_cast<double>(now - std::min(now, begun)));
  const base::ProcessCost cost = base::OwnCost();
  all.memory.Set(static_cast<double>(cost.memory));
  {
    const base::MutexLock lock(all.mutex);
    all.cpu.Increment(std::max(0.0, cost.cpu_seconds - all.cpu.Value()));
  }
  return prometheus::TextSerializer().Serialize(all.registry.Collect());
}

}  // namespace tacet::host

#include "tacet/host/guarantee_worker.h"

#include <utility>

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/status.h"
#include "tacet/report/privacy_json.h"

namespace tacet::host {

using base::JsonValue;

namespace {

JsonValue Reason(std::string_view reason) {
  return JsonValue::MakeObject().Set("epsilon", JsonValue()).Set("reason", reason);
}

JsonValue JsonOf(const agreement::Manifest& manifest, uint64_t attempts,
                 const absl::StatusOr<accounting::Guarantees>& guarantees) {
  JsonValue json = JsonValue::MakeObject().Set("attempts", attempts);
  const auto without_rows = [&json](std::string_view reason) {
    return json.Set("privacy", Reason(reason)).Set("statement", JsonValue());
  };
  if (!guarantees.ok()) return without_rows(base::Message(guarantees.status()));
  const auto warnings = agreement::PrivacyWarnings(manifest.spec());
  if (!warnings.ok()) return without_rows(base::Message(warnings.status()));
  JsonValue privacy = report::PrivacyJson(*guarantees, *warnings);
  JsonValue statement;
  if (privacy.Find("reason") == nullptr) {
    const auto stated =
        accounting::StatePrivacy(agreement::PrivacyOf(manifest.spec(), attempts), *guarantees);
    if (stated.ok()) statement = report::StatementJson(*stated);
  }
  return json.Set("privacy", std::move(privacy)).Set("statement", std::move(statement));
}

}  // namespace

JsonValue ForecastJson(const agreement::Manifest& manifest, uint64_t attempts) {
  if (attempts == 0) {
    return JsonOf(manifest, 0, base::FailedPrecondition("no attempt was begun yet"));
  }
  return JsonOf(manifest, attempts, agreement::GuaranteesOf(manifest, attempts));
}

JsonValue GuaranteeJson(const agreement::Manifest& manifest) {
  return JsonOf(manifest, manifest.attempt_budget(),
                agreement::GuaranteesOf(agreement::PermittedTerms(manifest)));
}

GuaranteeWorker::GuaranteeWorker(const agreement::Manifest& manifest)
    : manifest_(manifest), thread_([this] { Work(); }) {}

GuaranteeWorker::~GuaranteeWorker() {
  {
    const base::MutexLock lock(mutex_);
    ended_ = true;
  }
  asked_.SignalAll();
  thread_.join();
}

JsonValue GuaranteeWorker::Spent(uint64_t attempts) {
  const base::MutexLock lock(mutex_);
  if (worked_out_ != attempts) {
    wanted_ = attempts;
    asked_.SignalAll();
  }
  return spent_;
}

JsonValue GuaranteeWorker::Whole() {
  const base::MutexLock lock(mutex_);
  if (whole_.is_null()) {
    whole_wanted_ = true;
    asked_.SignalAll();
  }
  return whole_;
}

void GuaranteeWorker::Work() {
  base::MutexLock lock(mutex_);
  while (true) {
    while (!ended_ && !wanted_.has_value() && !whole_wanted_) asked_.Wait(mutex_);
    if (ended_) return;
    if (const auto attempts = std::exchange(wanted_, std::nullopt); attempts.has_value()) {
      lock.Unlock();
      JsonValue spent = ForecastJson(manifest_, *attempts);
      lock.Lock();
      spent_ = std::move(spent);
      worked_out_ = attempts;
    }
    if (std::exchange(whole_wanted_, false) && whole_.is_null()) {
      lock.Unlock();
      JsonValue whole = GuaranteeJson(manifest_);
      lock.Lock();
      whole_ = std::move(whole);
    }
  }
}

}  // namespace tacet::host

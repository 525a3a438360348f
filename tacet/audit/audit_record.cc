#include "tacet/audit/audit_record.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "fmt/ranges.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/dp/gaussian.h"
#include "tacet/he/aggregation.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/report/privacy_json.h"

namespace tacet::audit {
namespace {

using agreement::ManifestSpec;
using base::JsonValue;
using ledger::LedgerEntry;

std::string JoinKeys(const std::vector<agreement::MemberIdentity>& members) {
  base::ByteWriter all;
  for (const agreement::MemberIdentity& member : members) {
    all.Raw(member.signing_key);
    all.Raw(member.exchange_key);
  }
  return base::ToHex(all.bytes());
}

JsonValue HexOrNull(const std::optional<crypto::Digest>& digest) {
  return digest.has_value() ? JsonValue(base::ToHex(*digest)) : JsonValue();
}

std::string KindStatement(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  if (facts.kind == RunKind::kMember) {
    std::string statement = fmt::format(
        "Member {} of {} of a live federation took part with its own data and kept this record. It "
        "shows what the member was told and what it charged to its own ledger, not what other "
        "members did.",
        *facts.member, run.agreed().sampling.clients);
    if (run.first_round() > 0) {
      statement += fmt::format(
          " It came after {} rounds: the figures are about its data, of which these rounds had "
          "nothing.",
          run.first_round());
    }
    if (run.agreements.size() > 1) {
      statement +=
          " Members or terms changed in between: the figures are over all its charges, under all "
          "terms.";
    }
    return statement;
  }
  return fmt::format(
      "A simulation: {} played every member, the server and the committee, on data that one user "
      "holds. The figures are those of a federation of this agreement.",
      facts.processes == 1 ? std::string("one process")
                           : fmt::format("{} processes of one MPI job", facts.processes));
}

JsonValue RunJson(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  JsonValue result;
  if (facts.result.has_value()) {
    result = JsonValue::MakeObject()
                 .Set("accuracy", facts.result->accuracy)
                 .Set("loss", facts.result->loss)
                 .Set("held_out_samples", facts.result->samples)
                 .Set("statement",
                      "Rounded figures on members' held-out data. Epsilon does not cover them.");
  }
  const auto& entries = run.ledger.entries;
  const auto time_of = [&entries](size_t charge) {
    return entries.empty() ? JsonValue() : JsonValue(entries[charge].time);
  };
  const ledger::LedgerHeader& header = run.ledger.header;
  return JsonValue::MakeObject()
      .Set("kind", RunKindName(facts.kind))
      .Set("processes", facts.processes)
      .Set("member", base::OrNull(facts.member))
      .Set("statement", KindStatement(run))
      .Set("finished", facts.finished)
      .Set("stopped", base::OrNull(facts.stopped))
      .Set("rounds_complete", run.complete_rounds())
      .Set("rounds_planned", run.agreed().rounds)
      .Set("first_round", run.first_round())
      .Set("labels", base::JsonList(facts.labels))
      .Set("population", header.population)
      .Set("model", run.agreed().model)
      .Set("parameters", run.agreed().dimension)
      .Set("initial_model", base::ToHex(run.agreed().initial_model))
      .Set("released_model", HexOrNull(facts.released_model))
      .Set("first_charge", time_of(0))
      .Set("last_charge", time_of(entries.size() - 1))
      .Set("result", std::move(result));
}

JsonValue QueryJson(const AuditFacts& facts) {
  if (!facts.query.has_value()) return JsonValue();
  return JsonValue::MakeObject()
      .Set("statement",
           "The digest is that of the query file. The agreed text holds it, and the agreement and "
           "every charge name the agreed text by its digest. The answers follow from the released "
           "model alone.")
      .Set("digest", base::ToHex(facts.query->text))
      .Set("answers", facts.query->answers)
      .Set("agreed", facts.query->agreed);
}

JsonValue RoleJson(std::string_view role, uint64_t count, std::string_view statement) {
  return JsonValue::MakeObject().Set("role", role).Set("count", count).Set("statement", statement);
}

JsonValue MembersJson(const ManifestSpec& agreed) {
  JsonValue roles = JsonValue::MakeArray();
  roles.Append(RoleJson("data-owner", agreed.sampling.clients,
                        "Hold the data, train, clip, add their share of the noise, encrypt, keep a "
                        "ledger; trusted with their own data only."));
  roles.Append(RoleJson("committee-member", agreed.committee.seats,
                        "Members that vote for one sum an attempt and give unmask shares of it; "
                        "every member then decrypts the aggregate and checks it."));
  roles.Append(RoleJson("server", 1,
                        "Adds what is encrypted; holds no key, never sees an update or a model in "
                        "the clear."));
  return JsonValue::MakeObject()
      .Set("count", agreed.sampling.clients)
      .Set("roles", std::move(roles));
}

JsonValue UnitJson(const ManifestSpec& agreed) {
  const bool client = agreed.privacy.unit == accounting::Unit::kClient;
  return JsonValue::MakeObject()
      .Set("unit", accounting::UnitName(agreed.privacy.unit))
      .Set("neighbouring", accounting::NeighbouringName(agreed.privacy.neighbouring))
      .Set("appearances", std::max<uint64_t>(agreed.sampling.appearances, 1))
      .Set("statement",
           std::string(client ? "Hidden is all that one member contributes to the whole training; "
                                "a person whose data several members hold is not one unit."
                              : "Hidden is what one record, or one person, contributes at the "
                                "sites where it appears.") +
               (agreed.privacy.neighbouring == accounting::Neighbouring::kReplaceOne
                    ? " Compared is with any other data in its place."
                    : " Compared is with no data in its place; its noise is sent all the same."));
}

JsonValue MechanismJson(const AuditedAgreement& agreement) {
  const auto& [agreed, digest, event] = agreement;
  JsonValue mechanism = JsonValue::MakeObject();
  mechanism
      .Set("name", agreed.mechanism.noise_law == dp::NoiseLaw::kDiscreteLaplace
                       ? "distributed discrete Laplace noise"
                       : "distributed Gaussian noise, Poisson quantisation")
      .Set("noise_law", dp::NoiseLawName(agreed.mechanism.noise_law))
      .Set("clip_norm", agreed.mechanism.clip_norm)
      .Set("coordinate_bound", agreed.mechanism.coordinate_bound)
      .Set("noise_stddev", agreed.mechanism.noise_stddev)
      .Set("scale", agreed.mechanism.scale)
      .Set("sampler", dp::GaussianSamplerName(agreed.mechanism.sampler))
      .Set("without_noise", agreed.mechanism.without_noise)
      .Set("without_clipping", agreed.mechanism.without_clipping)
      .Set("cohort", agreed.sampling.cohort)
      .Set("min_participants", agreed.sampling.min_participants)
      .Set("sampling", accounting::SamplingName(*agreed.sampling.method))
      .Set("record_rate", agreed.sampling.record_rate)
      .Set("expected_batch", agreed.sampling.expected_batch)
      .Set("colluders", agreed.privacy.colluders)
      .Set("spare_attempts", agreed.spare_attempts)
      .Set("delta", agreed.privacy.delta)
      .Set("budget_epsilon", agreed.privacy.budget_epsilon > 0
                                 ? JsonValue(agreed.privacy.budget_epsilon)
                                 : JsonValue())
      .Set("charged_event", report::EventJson(event));
  if (agreed.sampling.dummy_uploads) mechanism.Set("dummy_uploads", true);
  if (agreed.sampling.max_participations != 0) {
    mechanism.Set("max_participations", agreed.sampling.max_participations);
  }
  return mechanism;
}

JsonValue CommitteeJson(const ManifestSpec& agreed) {
  if (agreed.committee.seats == 0) return JsonValue();
  return JsonValue::MakeObject()
      .Set("seats", agreed.committee.seats)
      .Set("corrupt", agreed.committee.corrupt)
      .Set("packing", agreed.committee.packing);
}

JsonValue EncryptionJson(const AuditedRun& run) {
  const auto& labels = run.facts.labels;
  const bool encrypted = std::ranges::find(labels, "no-encryption") == labels.end();
  return JsonValue::MakeObject()
      .Set("encrypted", encrypted)
      .Set("scheme", he::SchemeName(run.agreed().scheme))
      .Set("committee", CommitteeJson(run.agreed()))
      .Set("plaintext_bits",
           run.agreed().plaintext_bits > 0 ? JsonValue(run.agreed().plaintext_bits) : JsonValue())
      .Set("statement", encrypted
                            ? "Uploads are added without being decrypted; what is decrypted is the "
                              "sum of an attempt, and only when at least min_participants are in "
                              "it."
                            : "Labelled no-encryption: updates were added in the clear.");
}

// The sum of the ledger's charges by the accountant that its own budget is kept with.
absl::StatusOr<JsonValue> SpentJson(const AuditedRun& run) {
  JsonValue spent = JsonValue::MakeObject();
  if (!run.has_guarantee()) return spent.Set("epsilon", JsonValue());
  TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter spending,
                         accounting::PrivacyFilter::Create(run.ledger.header.spending));
  for (const LedgerEntry& entry : run.ledger.entries) {
    TACET_RETURN_IF_ERROR(spending.Add(entry.event, entry.count));
  }
  TACET_ASSIGN_OR_RETURN(const accounting::EpsilonBounds bounds, spending.Epsilon());
  const accounting::EpsilonBound* const headline = bounds.headline();
  return spent.Set("statement", accounting::kWhyLedgersDiffer)
      .Set("epsilon", bounds.epsilon())
      .Set("accountant", headline == nullptr
                             ? JsonValue()
                             : JsonValue(accounting::AccountantName(headline->accountant)));
}

}  // namespace

absl::StatusOr<double> ChargedEpsilonOf(const AuditedRun& run) {
  if (!run.has_guarantee()) return std::numeric_limits<double>::infinity();
  return agreement::ChargedEpsilon(run.terms);
}

namespace {

absl::StatusOr<JsonValue> PrivacyJson(const AuditedRun& run) {
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees, AuditedGuarantees(run));
  TACET_ASSIGN_OR_RETURN(JsonValue spent, SpentJson(run));
  TACET_ASSIGN_OR_RETURN(const double charged_epsilon, ChargedEpsilonOf(run));
  const JsonValue privacy = report::GuaranteesJson(guarantees);
  return JsonValue::MakeObject()
      .Set("delta", run.agreed().privacy.delta)
      .Set("permitted_attempts", agreement::AttemptsIn(run.permitted()))
      .Set("charged_attempts", run.charges())
      .Set("charged_epsilon", charged_epsilon)
      .Set("statement",
           std::string("Every attempt is charged, also one that gave no sum. Rows count all "
                       "attempts that the agreement permits, whether they were made "
                       "or not, and stop at its budget: who may stop a run after looking at its "
                       "models has no smaller bound. charged_epsilon is a forecast for a run that "
                       "was fixed beforehand to end with the attempts charged so far. A row says "
                       "what one kind of observer can learn; accountants are upper bounds, and the "
                       "smallest of an observer holds.") +
               (run.terms.size() == 1
                    ? ""
                    : " Terms changed in mid-run, perhaps in view of a model. A row whose noise or "
                      "rate changed counts all attempts at the least noise and the highest rate; "
                      "the row fixed-order-rdp or gaussian-filter counts each under its own terms, "
                      "by "
                      "a filter that was fixed beforehand."))
      .Set("worst", *privacy.Find("worst"))
      .Set("headlines", *privacy.Find("headlines"))
      .Set("accountants", *privacy.Find("accountants"))
      .Set("ledger", std::move(spent));
}

JsonValue RoundsJson(const AuditedRun& run) {
  JsonValue list = JsonValue::MakeArray();
  for (const AuditedRound& round : run.facts.rounds) {
    JsonValue attempts = JsonValue::MakeArray();
    for (const AuditedAttempt& attempt : round.attempts) {
      JsonValue item = JsonValue::MakeObject()
                           .Set("epoch", attempt.epoch)
                           .Set("attempt", attempt.attempt)
                           .Set("outcome", AttemptOutcomeName(attempt.outcome));
      if (!attempt.reason.empty()) item.Set("cause", attempt.reason);
      attempts.Append(std::move(item));
    }
    list.Append(
        JsonValue::MakeObject()
            .Set("round", round.round)
            .Set("participants", round.sum_not_seen ? JsonValue() : JsonValue(round.participants))
            .Set("givers", base::OrNull(run.Givers(round)))
            .Set("model", HexOrNull(round.model))
            .Set("model_epoch", round.model ? JsonValue(round.model_epoch) : JsonValue())
            .Set("attempts", std::move(attempts)));
  }
  return list;
}

JsonValue AttestationsJson(const AuditedRun& run) {
  JsonValue list = JsonValue::MakeArray();
  for (size_t i = 0; i < run.attestations.size(); ++i) {
    const protocol::Attestation& statement = run.attestations[i];
    list.Append(JsonValue::MakeObject()
                    .Set("member", statement.member)
                    .Set("rounds", statement.round)
                    .Set("model", base::ToHex(statement.model_digest))
                    .Set("bytes", base::ToHex(run.facts.attestations[i])));
  }
  return list;
}

JsonValue AbstentionsJson(const AuditedRun& run) {
  JsonValue list = JsonValue::MakeArray();
  for (size_t i = 0; i < run.abstentions.size(); ++i) {
    const protocol::Abstention& statement = run.abstentions[i];
    list.Append(JsonValue::MakeObject()
                    .Set("member", statement.member)
                    .Set("round", statement.attempt.number.round)
                    .Set("cause", protocol::AbstentionReasonName(statement.reason))
                    .Set("bytes", base::ToHex(run.facts.abstentions[i])));
  }
  return list;
}

// The terms under which attempts were charged before the present ones came.
JsonValue EarlierTermsJson(const AuditedRun& run) {
  JsonValue list = JsonValue::MakeArray();
  for (size_t i = 0; i + 1 < run.terms.size(); ++i) {
    const AuditedAgreement& earlier = run.agreements[i];
    list.Append(JsonValue::MakeObject()
                    .Set("agreement", base::ToHex(earlier.digest))
                    .Set("charged_attempts", run.terms[i].attempts)
                    .Set("members", earlier.agreed.sampling.clients)
                    .Set("mechanism", MechanismJson(earlier))
                    .Set("committee", CommitteeJson(earlier.agreed)));
  }
  return list;
}

// The charges under each epoch's keys.
JsonValue EpochsJson(const std::vector<LedgerEntry>& entries) {
  struct Epoch {
    uint64_t charges = 0, first = 0, last = 0;
  };
  std::map<uint32_t, Epoch> epochs;
  for (const LedgerEntry& entry : entries) {
    Epoch& epoch = epochs[entry.label.number.epoch];
    if (epoch.charges++ == 0) epoch.first = entry.time;
    epoch.last = entry.time;
  }
  JsonValue list = JsonValue::MakeArray();
  for (const auto& [number, epoch] : epochs) {
    list.Append(JsonValue::MakeObject()
                    .Set("epoch", number)
                    .Set("charged_attempts", epoch.charges)
                    .Set("first_charge", epoch.first)
                    .Set("last_charge", epoch.last));
  }
  return list;
}

JsonValue AgreementJson(const AuditedRun& run) {
  JsonValue manifests = JsonValue::MakeArray();
  for (const AuditedManifest& manifest : run.facts.manifests) {
    manifests.Append(JsonValue::MakeObject()
                         .Set("hash", base::ToHex(manifest.hash))
                         .Set("epoch", base::ToHex(manifest.epoch))
                         .Set("agreement", base::ToHex(manifest.agreement))
                         .Set("member_keys", manifest.members
                                                 ? JsonValue(JoinKeys(*manifest.members))
                                                 : JsonValue()));
  }
  JsonValue earlier = JsonValue::MakeArray();
  for (size_t i = 0; i + 1 < run.agreements.size(); ++i) {
    earlier.Append(JsonValue::MakeObject()
                       .Set("digest", base::ToHex(run.agreements[i].digest))
                       .Set("bytes", base::ToHex(run.facts.agreements[i])));
  }
  return JsonValue::MakeObject()
      .Set("digest", base::ToHex(run.agreement_digest()))
      .Set("bytes", base::ToHex(run.facts.agreements.back()))
      .Set("earlier", std::move(earlier))
      .Set("manifests", std::move(manifests));
}

JsonValue LedgerJson(const AuditedRun& run) {
  const ledger::LedgerAnchor& end = run.facts.ledger_end;
  return JsonValue::MakeObject()
      .Set("rule", ledger::ChargingRuleName(ledger::ChargingRule::kAnnouncedAttempts))
      .Set("created", run.ledger.header.created)
      .Set("genesis", base::ToHex(end.genesis))
      .Set("charges", end.count)
      .Set("head", base::ToHex(end.head))
      .Set("bytes", base::ToHex(run.facts.ledger));
}

JsonValue SoftwareJson(const AuditFacts& facts) {
  const auto json_of = [](const Dependency& dependency) {
    return JsonValue::MakeObject().Set("name", dependency.name).Set("version", dependency.version);
  };
  return JsonValue::MakeObject()
      .Set("name", "tacet")
      .Set("version", facts.version)
      .Set("commit", facts.program_commit)
      .Set("training_commits", facts.training_commits)
      .Set("dependencies", base::JsonList(facts.dependencies, json_of));
}

JsonValue RetentionJson(RunKind kind) {
  return JsonValue::MakeObject().Set(
      "statement",
      kind == RunKind::kMember
          ? "Kept in the run directory: settings, ledger, a line of measurements for each round, "
            "attestations, the model, and the key that signs this record. Kept in the site's home: "
            "its identity, the epoch key, the key that names its data, its state and its log. Not "
            "kept: updates, decrypted sums, uploads of other attempts than the last. The data stay "
            "where their owner keeps them."
          : "Kept in the run directory: settings, ledger, the attempts, a line of measurements for "
            "each round, a checkpoint, the model, the key that signs this record and the key that "
            "names the data. Not kept: updates, uploads, decrypted sums, cohorts, members' keys "
            "and "
            "epoch keys; they end with the process that made them. The data stay where their owner "
            "keeps them.");
}

JsonValue AssumptionsJson(const agreement::ManifestSpec& agreed) {
  JsonValue list = JsonValue::MakeArray();
  for (const std::string_view statement :
       {"A member's software clips and adds its noise as agreed; as many members as "
        "min_participants less the colluders of an observer do so honestly.",
        "Rows with sampling hold against observers that learn no cohort; an observer that sees the "
        "traffic, or was told the cohort, is under cohort-aware.",
        agreed.committee.seats == 0
            ? "The server together with a holder of the epoch key decrypts single uploads: there "
              "is no guarantee against the two together."
            : "No single upload is decrypted as long as those who work together hold no more of "
              "the committee's seats than may be corrupt.",
        "Accuracy and loss on the members' held-out data are outside epsilon, and so is every "
        "choice of a setting that was made after seeing them.",
        "Existence, availability and timing of members are not hidden, nor is time on the "
        "processor on which noise is drawn.",
        "The figures are for this agreement and its ledger: the same data in another federation is "
        "charged again."}) {
    list.Append(JsonValue::MakeObject().Set("statement", statement));
  }
  return list;
}

}  // namespace

absl::StatusOr<accounting::Guarantees> AuditedGuarantees(const AuditedRun& run) {
  const std::vector<agreement::ChargedTerms> permitted = run.permitted();
  if (run.has_guarantee()) return agreement::GuaranteesOf(permitted);
  const std::vector<accounting::FederationPrivacySpec> terms = agreement::PrivacyOf(permitted);
  TACET_ASSIGN_OR_RETURN(std::vector<accounting::ObservedRounds> all_observed,
                         accounting::ObserveTraining(terms));
  accounting::Guarantees none{.worst = 0};  // the first observer stands for all: none has a bound
  for (accounting::ObservedRounds& observed : all_observed) {
    if (!none.rows.empty() && none.rows.back().observer == observed.observer) continue;
    if (observed.standing == accounting::Standing::kConvention) continue;
    observed.standing = accounting::Standing::kNone;
    observed.note =
        fmt::format("no guarantee: the run is labelled {}", fmt::join(run.facts.labels, ", "));
    TACET_ASSIGN_OR_RETURN(const std::vector<accounting::PrivacyRow> rows,
                           accounting::RowsOfObserver(observed, terms.back()));
    none.rows.insert(none.rows.end(), rows.begin(), rows.end());
  }
  return none;
}

absl::StatusOr<JsonValue> AuditRecord(const AuditedRun& run) {
  const AuditFacts& facts = run.facts;
  TACET_ASSIGN_OR_RETURN(JsonValue privacy, PrivacyJson(run));
  return JsonValue::MakeObject()
      .Set("format", kAuditFormat)
      .Set("version", kAuditVersion)
      .Set("created", facts.created)
      .Set("run", RunJson(run))
      .Set("query", QueryJson(facts))
      .Set("privacy_unit", UnitJson(run.agreed()))
      .Set("privacy", std::move(privacy))
      .Set("members", MembersJson(run.agreed()))
      .Set("mechanism", MechanismJson(run.agreements.back()))
      .Set("earlier_terms", EarlierTermsJson(run))
      .Set("encryption", EncryptionJson(run))
      .Set("assumptions", AssumptionsJson(run.agreed()))
      .Set("retention", RetentionJson(facts.kind))
      .Set("rounds", RoundsJson(run))
      .Set("attestations", AttestationsJson(run))
      .Set("abstentions", AbstentionsJson(run))
      .Set("key_epochs", EpochsJson(run.ledger.entries))
      .Set("agreement", AgreementJson(run))
      .Set("ledger", LedgerJson(run))
      .Set("software", SoftwareJson(facts))
      .Set("signer", base::ToHex(facts.signer))
      .Set("audit_key", facts.audit_key ? JsonValue(base::ToHex(*facts.audit_key)) : JsonValue());
}

}  // namespace tacet::audit

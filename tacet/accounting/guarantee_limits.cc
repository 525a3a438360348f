#include "tacet/accounting/guarantee_limits.h"

namespace tacet::accounting {
namespace {

using Spec = FederationPrivacySpec;

bool Always(const Spec&) { return true; }
bool OfTheProduct(const Spec&) { return false; }
bool HasCommittee(const Spec& spec) { return spec.committee_seats > 0; }
bool HasNoCommittee(const Spec& spec) { return spec.committee_seats == 0; }
bool ToleratesCorruptSeats(const Spec& spec) {
  return HasCommittee(spec) && spec.corrupt_seats > 0;
}
bool HasDiscreteLaplaceNoise(const Spec& spec) {
  return spec.mechanism.noise_law == dp::NoiseLaw::kDiscreteLaplace;
}
bool ToleratesNone(const Spec& spec) { return HasCommittee(spec) && spec.corrupt_seats == 0; }
bool DrawsUnits(const Spec& spec) { return !IsClientUnit(spec); }
bool DrawsClients(const Spec& spec) {
  return IsClientUnit(spec) && spec.sampling.cohort < spec.sampling.clients;
}
bool ShowsCohorts(const Spec& spec) { return DrawsClients(spec) && !spec.sampling.dummy_uploads; }
bool MayLackUploads(const Spec& given) {
  const Spec spec = Resolved(given);
  const uint64_t uploads = spec.sampling.dummy_uploads ? spec.pool : spec.sampling.cohort;
  return HasCommittee(spec) && spec.sampling.min_participants < uploads;
}
bool ShowsCohortsToSeats(const Spec& spec) { return ShowsCohorts(spec) && HasCommittee(spec); }

constexpr GuaranteeLimit kLimits[] = {
    {"The server together with f + 1 committee members decrypts single updates. Those carry only "
     "a K_min-th part of the noise's variance: practically no protection.",
     ToleratesCorruptSeats},
    {"Where f = 0, which is the default of federations of two and three members, the server and "
     "one committee member decrypt single updates. Those carry only a K_min-th part of the "
     "noise's variance: practically no protection.",
     ToleratesNone},
    {"Discrete Laplace noise in a single update. Queries of counts and cells have it by default. A "
     "site's own share of it is often 0: at epsilon 1 and four sites in three of four counts, and "
     "in more at more sites. Anyone who decrypts a single update then reads those counts exactly.",
     HasDiscreteLaplaceNoise},
    {"Without a committee, with the paper's schemes, the server together with any holder of the "
     "epoch key decrypts single updates. Uploads of these schemes carry their MAC in clear, as "
     "the paper has it.",
     HasNoCommittee},
    {"Subtracted rosters. By default a sum may lack uploads, so that one absent or lying member "
     "does not end a training. The server with a bad member can then leave uploads out in turn, "
     "and see a member's own part with noise. The agreement states how much. min_participants = "
     "all uploads excludes it.",
     MayLackUploads},
    {"Amplification by sampling of clients holds only against those who cannot learn the "
     "cohorts. Anyone who sees the traffic learns them, unless every client uploads in every "
     "round (dummy uploads).",
     DrawsClients},
    {"Amplification by sampling of records or persons holds only as long as the draw never "
     "leaves the site.",
     DrawsUnits},
    {"The committee sees who took part in each attempt, unless there are dummy uploads. Other "
     "members do not.",
     ShowsCohortsToSeats},
    {"Integrity. The server together with a member can forge MACs and so make a false sum within "
     "the bounds. It learns nothing by it. A wrong upload makes an attempt fail. Only wrong "
     "shares show whose it is.",
     Always},
    {"The coordinator signs who the members and the committee are, and their keys. Together with "
     "the server it could show one site a manifest with false keys and read that site's uploads. "
     "Compare the manifest's hash with another site's.",
     Always},
    {"Quantum computers. Recorded uploads and invitations stay closed to a later one: their keys "
     "need ML-KEM-768 and X25519 together. It can read the metadata of recorded connections: who "
     "was there, when, and with how many bytes. One that works while an epoch runs forges "
     "signatures, and so poses as coordinator and members. The members and the coordinator hold "
     "the epoch key. Under version 0.2 anybody who recorded the invitation holds it, too, once "
     "X25519 is broken, and reads the recorded uploads.",
     Always},
    {"A stolen epoch key decrypts the sums of that epoch, not single uploads. A thief of the "
     "exchange keys of f + 1 committee members and the epoch key decrypts every recorded upload "
     "of that epoch. Sites that leave prekeys at the server hold the keys of the next epoch, too: "
     "after a theft, tacet client renew --discard replaces them before rotate. No other epoch is "
     "opened. The keys are deleted when the members join the next epoch, so a long epoch is a "
     "long exposure. Backups, snapshots and solid-state disks may keep deleted files.",
     HasCommittee},
    {"Local timing. Key handling, MACs and encryption have no branch or memory access that "
     "depends on secrets. The noise and Poisson samplers reject, and therefore do. tacet does "
     "not defend against anyone who can measure the time of a participant's own process, or runs "
     "on its machine.",
     OfTheProduct},
    {"Memory of a seized machine, swap, cold boot. Secrets are wiped after use. A process with "
     "keys leaves no core dump, and its keys are locked into memory as far as the system's limit "
     "allows. TLS keys also lie in OpenSSL's memory, updates and models in memory that may reach "
     "swap (docs/deploy.md, \"Keys in memory\"). An administrator of the machine reads all of it.",
     OfTheProduct},
    {"A participant that lies about its data (poisoning, backdoors). An honest program bounds a "
     "single update by clipping; the content of an update inside that bound is believed. Nothing "
     "proves that a participant adds its share of noise. A participant that leaves it out loses "
     "its own protection. The guarantee tolerates c participants that withhold their noise, and "
     "every ε states its c.",
     Always},
    {"Participation and its times are visible to the server and the network. The guarantee does "
     "not hide whether a client exists, is reachable or uploads.",
     Always},
    {"The number of givers. A member whose budget has ended sends zeros and says so to its "
     "federation. The number of those that gave data is an upper bound: a program that fails gives "
     "zeros and is told at its site only, and a server can withhold one member's statement from "
     "another.",
     Always},
    {"Absences that depend on cohorts or data. Every amplified ε covers any number of absent "
     "clients. It assumes that who is absent is settled before the coins of the round, and "
     "depends on no data and on nobody's earlier coins. A client that rests because it took part "
     "in the last round tells later observers about that round's cohort.",
     DrawsClients},
    {"People in two populations. A person who is in two populations of a site, or at two sites, "
     "has two budgets. tacet warns a site where rows of two of its populations are alike. It "
     "cannot tell whose a row is.",
     OfTheProduct},
    {"The site's own machine. The privacy ledger notices damage, cuts and old copies by anchors "
     "in every home that charged it, and by one on another machine (--ledger-anchor). Someone "
     "who removes or puts back all of them spends the same budget again. So does someone who "
     "uses another ledger folder, or a copy of it, for a new federation, or sets the machine's "
     "clock forward by a year. An officer's policy names the only folder. The folder's sketch/ "
     "confirms single rows to anyone who has it, so leave it out of backups. With own-seals, "
     "seals made after the last anchor are forgotten. The officer's policy binds the operator of "
     "the program, not an attacker who changes the program.",
     OfTheProduct},
    {"Publications outside of the sums: accuracy or loss on members' data, early stopping by "
     "them, the choice of hyper-parameters on them. None is part of ε unless it is noised and "
     "charged.",
     Always},
    {"The same data in another federation are charged again, and the costs add up.", Always},
    {"Correlated data. The unit of protection (client, person, record) is part of every ε. The "
     "information that other units' data give about one is not hidden.",
     Always},
    {"Denial of service. A server, or committee members that refuse, stop a federation. They "
     "learn nothing by it. The server bounds what a client can take of it "
     "(docs/formats/transport.md). It does not defend against floods that fill its line.",
     OfTheProduct},
    {"--no-encryption, --no-noise, --no-clip, --no-quantisation, --insecure-seed each remove a "
     "protection. They label the run wherever it is shown. They are for experiments on data that "
     "need no protection.",
     OfTheProduct},
    {"The simulator (tacet simulate) plays all parties in one process. It shows the cost and the "
     "accuracy of a federation. It protects nobody from the person who runs it.",
     OfTheProduct},
};

}  // namespace

std::span<const GuaranteeLimit> GuaranteeLimits() { return kLimits; }

std::vector<std::string> LimitsOf(const FederationPrivacySpec& federation) {
  std::vector<std::string> limits;
  for (const GuaranteeLimit& limit : kLimits) {
    if (limit.is_of(federation)) limits.emplace_back(limit.text);
  }
  return limits;
}

}  // namespace tacet::accounting

#include "tacet/host/server_metrics.h"

#include <regex>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/process_cost.h"

namespace tacet::host {
namespace {

using ::testing::HasSubstr;

TEST(ServerMetricsTest, EveryFigureHasItsFormAndItsHelp) {
  ServerMetrics metrics;
  metrics.CountRequest("await", absl::OkStatus(), 1, 2);
  metrics.CountRequest("put-part", absl::InternalError(""), 1, 2);
  metrics.CountEnded("not-decrypted");
  metrics.ObservePhase(protocol::AttemptPhase::kUnmasking, 3.5);
  std::istringstream text(metrics.Text(5));
  const std::regex form(
      R"((# (HELP|TYPE) [a-z_]+ .+)|([a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.eInf]+))");
  size_t lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    EXPECT_TRUE(std::regex_match(line, form)) << line;
  }
  EXPECT_GT(lines, 50u);
}

TEST(ServerMetricsTest, TheCertificatesEndIsCountedDown) {
  ServerMetrics metrics;
  metrics.SetCertificateEnd(1000);
  EXPECT_THAT(metrics.Text(400), HasSubstr("tacet_certificate_expiry_seconds 600"));
  EXPECT_THAT(metrics.Text(1001), HasSubstr("tacet_certificate_expiry_seconds -1"));
}

TEST(ServerMetricsTest, TellsOfTheProcess) {
  ServerMetrics metrics;
  const base::ProcessCost cost = base::OwnCost();
  EXPECT_GT(cost.memory, 1u << 20);
  EXPECT_GE(cost.memory_peak, cost.memory);
  EXPECT_THAT(metrics.Text(0), HasSubstr("process_resident_memory_bytes "));
  EXPECT_THAT(metrics.Text(0), HasSubstr("process_cpu_seconds_total "));
}

TEST(ServerMetricsTest, BeforeTheFirstAttemptThereIsNoRound) {
  ServerMetrics metrics;
  metrics.SetStatus({});
  EXPECT_THAT(metrics.Text(0), HasSubstr("tacet_round -1"));
  EXPECT_THAT(metrics.Text(0), HasSubstr("tacet_phase{phase=\"collecting\"} 0"));
}

TEST(ServerMetricsTest, CountsConnections) {
  ServerMetrics metrics;
  metrics.SetLoad({.connections = 9,
                   .strangers = 2,
                   .working = 3,
                   .parked = 4,
                   .failed_handshakes = 5,
                   .replaced = 6});
  metrics.SetLoad({.connections = 9, .strangers = 2, .failed_handshakes = 7, .replaced = 6});
  const std::string text = metrics.Text(0);
  EXPECT_THAT(text, HasSubstr("tacet_connections{of=\"members\"} 7"));
  EXPECT_THAT(text, HasSubstr("tacet_connections{of=\"strangers\"} 2"));
  EXPECT_THAT(text, HasSubstr("tacet_calls{state=\"parked\"} 0"));
  EXPECT_THAT(text, HasSubstr("tacet_failed_handshakes_total 7"));
  EXPECT_THAT(text, HasSubstr("tacet_replaced_connections_total 6"));
}

TEST(ServerMetricsTest, WordsOfStatuses) {
  EXPECT_EQ(StatusWord(absl::StatusCode::kOk), "ok");
  EXPECT_EQ(StatusWord(absl::StatusCode::kResourceExhausted), "resource_exhausted");
}

}  // namespace
}  // namespace tacet::host

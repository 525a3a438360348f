// Log of a server for tests, which can read its events.
#ifndef TACET_HOST_LOG_FOR_TEST_H_
#define TACET_HOST_LOG_FOR_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/base/json.h"
#include "tacet/host/server_log.h"

namespace tacet::host {

struct LogForTest {
  std::unique_ptr<ServerLog> log = *ServerLog::Open("/dev/null");

  // "warning attempt-failed {...}" for each event, without times.
  std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (const base::JsonValue& line : log->Recent()) {
      base::JsonValue fields = base::JsonValue::MakeObject();
      for (const auto& [key, value] : line.members()) {
        if (key != "time" && key != "level" && key != "event") fields.Set(key, value);
      }
      events.push_back(*line.Find("level")->AsString() + " " + *line.Find("event")->AsString() +
                       " " + fields.Dump());
    }
    return events;
  }
};

}  // namespace tacet::host

#endif  // TACET_HOST_LOG_FOR_TEST_H_

// Enrolment with the program as users do it: coordinator, sites and server, each with its folder
// and its key file.
#ifndef TACET_TESTS_INTEGRATION_ENROLMENT_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_ENROLMENT_FOR_TEST_H_

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {

class EnrolmentTest : public ProgramTest {
 protected:
  // For three members, who agree on `agreed`, in TOML: terms of a training, or with --query a
  // query.
  void Init(const std::string& agreed, const std::string& kind = "--config") {
    const Outcome init =
        Tacet(With({"federation", "init", "--name", "hospitals", kind, WriteConfig(agreed),
                    "--members", "3", "--key-file", "c.key", "--json"},
                   init_flags_));
    ASSERT_EQ(init.exit_code, 0) << init.err;
    coordinator_ = *base::JsonValue::Parse(init.out)->Find("coordinator")->AsString();
  }

  // The site's own part; returns the fingerprint that it would tell.
  std::string Request(const std::string& name, const std::vector<std::string>& more = {}) {
    const Outcome made = Tacet(With(
        {"client", "request", "--home", name, "--name", name, "--key-file", name + ".key"}, more));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    std::string told = made.out;
    std::erase(told, ' ');
    EXPECT_THAT(told, ::testing::HasSubstr(Fingerprint(name)));
    return Fingerprint(name);
  }
  // For the request of `name` in its folder, or in another one.
  std::string Fingerprint(const std::string& name, const std::string& home = "") const {
    const std::string request = Read((home.empty() ? name : home) + "/" + name + ".request");
    return base::ToHex(crypto::Sha256(base::AsBytes(request)));
  }

  Outcome Enrol(const std::string& name, const std::string& fingerprint,
                const std::vector<std::string>& more = {}) {
    return Tacet(With({"federation", "enrol", name, "--request", name + "/" + name + ".request",
                       "--fingerprint", fingerprint, "--server", "hub", "--key-file", "c.key"},
                      more));
  }
  Outcome Rotate(const std::vector<std::string>& more = {}) {
    return Tacet(With({"federation", "rotate", "--key-file", "c.key"}, more));
  }
  // The site makes its next exchange key, and the coordinator enrols it without a fingerprint.
  void Renew(const std::string& name) {
    const Outcome made = Tacet({"client", "renew", "--home", name, "--key-file", name + ".key"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Outcome enrolled = Tacet({"federation", "enrol", name, "--request",
                                    name + "/" + name + ".request", "--key-file", "c.key"});
    ASSERT_EQ(enrolled.exit_code, 0) << enrolled.err;
    EXPECT_THAT(enrolled.out, ::testing::HasSubstr(name + " is enrolled again"));
  }
  Outcome SealKey() { return Tacet({"federation", "seal-key", "--key-file", "c.key"}); }

  Outcome Join(const std::string& name, int epoch, const std::vector<std::string>& more = {}) {
    return Tacet(
        With({"client", "join",
              "federation/invitations/" + name + "-epoch-" + std::to_string(epoch) + ".tacet",
              "--home", name, "--key-file", name + ".key", "--accept-weaker"},
             more));
  }

  std::vector<std::string> init_flags_;  // further ones
  std::string coordinator_;

 private:
  static std::vector<std::string> With(std::vector<std::string> arguments,
                                       const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_ENROLMENT_FOR_TEST_H_

#include "tacet/site/app_socket.h"

#include <atomic>
#include <cmath>
#include <fstream>
#include <future>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/site/app_for_test.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet::site {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<float, 3> kModel = {1, -2, 3};
constexpr std::array<float, 3> kUpdate = {0.5, 0.25, -1};

class AppSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0750), 0);
    Listen();
  }
  void Listen() {
    auto socket = AppSocket::Listen(path_, link_);
    ASSERT_TRUE(socket.ok()) << socket.status();
    socket_ = *std::move(socket);
  }
  // The refusal of Listen.
  std::string Refusal(const std::filesystem::path& path) {
    return base::Message(AppSocket::Listen(path, link_).status());
  }

  std::future<absl::Status> Train(const AppTask& task) {
    return std::async(std::launch::async, [this, task] { return link_.Train(task, update_); });
  }
  // A training that an app has taken up.
  TaskForTest TakeUp(AppForTest& app) {
    const std::optional<MemberFrame> frame = app.Ask(AppFrame::kExchange);
    EXPECT_TRUE(frame.has_value() && frame->kind == AppFrame::kTrain);
    return frame.has_value() ? TaskIn(*frame) : TaskForTest();
  }
  // The next frame is about the end, not about a training.
  void ExpectNoTrainingIsLeft() {
    link_.End("{}");
    AppForTest next(path_);
    EXPECT_EQ(next.Ask(AppFrame::kExchange)->kind, AppFrame::kEnded);
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "app.sock";
  std::atomic<bool> stop_ = false;
  AppLink link_{kModel.size(), R"({"lr": 0.1})", [this] { return stop_.load(); }};
  std::unique_ptr<AppSocket> socket_;
  std::array<float, 3> update_{};
  const AppTask task_{.round = 4, .attempt = 1, .model = kModel};
};

TEST_F(AppSocketTest, TheAppCarriesCallsAndHearsOfTheEnd) {
  auto call = std::async(std::launch::async,
                         [this] { return link_.wire().Call(base::AsBytes("question"), 600); });
  AppForTest app(path_);
  const std::optional<MemberFrame> requests = app.Ask(AppFrame::kExchange);
  ASSERT_TRUE(requests.has_value());
  EXPECT_EQ(requests->kind, AppFrame::kRequests);
  const auto read = transport::relay::ReadRequests(requests->payload);
  ASSERT_EQ(read->size(), 1);
  EXPECT_EQ(base::AsText(read->front()), "question");

  link_.End(R"({"rounds":3})");
  const transport::relay::RelayedAnswer answer{crypto::Sha256(base::AsBytes("question")),
                                               base::Bytes{7}};
  const std::optional<MemberFrame> ended =
      app.Ask(AppFrame::kExchange,
              transport::relay::WriteAnswers(std::vector<transport::relay::RelayedAnswer>{answer}));
  EXPECT_EQ(*call.get(), base::Bytes{7});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->kind, AppFrame::kEnded);
  EXPECT_EQ(ended->text(), R"({"rounds":3})");
  EXPECT_TRUE(link_.told());
}

TEST_F(AppSocketTest, ATrainingHasEverythingThatItNeeds) {
  std::future<absl::Status> training = Train(task_);
  AppForTest app(path_);
  const TaskForTest task = TakeUp(app);
  EXPECT_EQ(task.round, 4);
  EXPECT_EQ(task.attempt, 1);
  EXPECT_TRUE(std::isnan(task.clip_norm));
  EXPECT_EQ(task.units, 0xffffffff);
  EXPECT_EQ(task.configuration, R"({"lr": 0.1})");
  EXPECT_THAT(task.model, ElementsAre(1, -2, 3));
  link_.End("{}");
  EXPECT_EQ(app.Trained(task, kUpdate)->kind, AppFrame::kEnded);
  EXPECT_TRUE(training.get().ok());
  EXPECT_EQ(update_, kUpdate);
}

TEST_F(AppSocketTest, DrawnUnitsComeWithTheirClipNorm) {
  const std::array<uint32_t, 2> drawn = {0, 7};
  AppTask task = task_;
  task.units = drawn;
  task.clip_norm = 0.5;
  std::future<absl::Status> training = Train(task);
  {
    AppForTest app(path_);
    const TaskForTest taken = TakeUp(app);
    EXPECT_THAT(taken.drawn, ElementsAre(0, 7));
    EXPECT_EQ(taken.clip_norm, 0.5);
    EXPECT_THAT(taken.model, ElementsAre(1, -2, 3));
  }
  EXPECT_EQ(training.get().code(), absl::StatusCode::kAborted);
}

// One training an attempt: an app that is killed, that asks for something else, or that fails, is
// not asked again.
TEST_F(AppSocketTest, AKilledAppIsNotAskedAgain) {
  std::future<absl::Status> training = Train(task_);
  {
    AppForTest app(path_);
    TakeUp(app);
  }
  const absl::Status ended = training.get();
  EXPECT_EQ(ended.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(base::Message(ended), HasSubstr("went away"));
  ExpectNoTrainingIsLeft();
}

TEST_F(AppSocketTest, AnAppThatAsksForMoreHasGivenUp) {
  std::future<absl::Status> training = Train(task_);
  AppForTest app(path_);
  const TaskForTest task = TakeUp(app);
  link_.End("{}");
  EXPECT_EQ(app.Ask(AppFrame::kExchange)->kind, AppFrame::kEnded);
  EXPECT_EQ(training.get().code(), absl::StatusCode::kAborted);
  // Its update is too late then.
  EXPECT_EQ(app.Trained(task, kUpdate)->kind, AppFrame::kEnded);
  EXPECT_THAT(update_, ElementsAre(0, 0, 0));
}

TEST_F(AppSocketTest, AFailureIsTheAppsFault) {
  std::future<absl::Status> training = Train(task_);
  AppForTest app(path_);
  TakeUp(app);
  base::ByteWriter failed;
  failed.U32(4);
  failed.U32(1);
  link_.End("{}");
  EXPECT_EQ(app.Ask(AppFrame::kFailed, failed.bytes())->kind, AppFrame::kEnded);
  EXPECT_EQ(training.get().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AppSocketTest, AMemberThatEndsDoesNotWaitForTheApp) {
  std::future<absl::Status> training = Train(task_);
  stop_ = true;
  EXPECT_EQ(training.get().code(), absl::StatusCode::kCancelled);
}

TEST_F(AppSocketTest, OneAppAtATime) {
  AppForTest first(path_);
  std::future<absl::Status> training = Train(task_);
  const TaskForTest task = TakeUp(first);
  AppForTest second(path_);
  const std::optional<MemberFrame> refused = second.Receive();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->kind, AppFrame::kEnded);
  EXPECT_THAT(refused->text(), HasSubstr("another app is connected"));
  EXPECT_FALSE(second.Receive().has_value()) << "the connection has ended";
  // The first one is not disturbed.
  link_.End("{}");
  EXPECT_EQ(first.Trained(task, kUpdate)->kind, AppFrame::kEnded);
  EXPECT_TRUE(training.get().ok());
}

TEST_F(AppSocketTest, HostileFramesEndTheConnectionOnly) {
  const auto refused = [&](const base::Bytes& bytes) {
    AppForTest app(path_);
    EXPECT_TRUE(app.Send(bytes));
    const std::optional<MemberFrame> told = app.Receive();
    EXPECT_FALSE(app.Receive().has_value());
    return told.has_value() ? told->text() : "nothing";
  };
  EXPECT_THAT(refused({0, 0, 0, 0, 1}), HasSubstr("no frame"));
  EXPECT_THAT(refused({1, 0, 0, 0, 16}), HasSubstr("no frame")) << "a frame of the member";
  EXPECT_THAT(refused({1, 0, 0, 0, 99}), HasSubstr("no frame"));
  // No memory for 4 GiB, nor for one value too many.
  EXPECT_THAT(refused({255, 255, 255, 255, 1}), HasSubstr("no frame"));
  EXPECT_THAT(refused({22, 0, 0, 0, 2}), HasSubstr("no frame"));
  EXPECT_THAT(refused(FrameOf(AppFrame::kTrained, base::AsBytes("12345678"))),
              HasSubstr("cut short"));
  ExpectNoTrainingIsLeft();
}

TEST_F(AppSocketTest, RefusesPlacesThatAreNotSafe) {
  EXPECT_THAT(Refusal(path_), HasSubstr("another member serves"));
  EXPECT_THAT(Refusal(folder_.path() / std::string(120, 'a')), HasSubstr("choose a shorter one"));
  EXPECT_THAT(Refusal("/nowhere/app.sock"), HasSubstr("make this folder"));
  std::ofstream(folder_.path() / "file") << "x";
  EXPECT_THAT(Refusal(folder_.path() / "file"), HasSubstr("is no socket"));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0751), 0);
  EXPECT_THAT(Refusal(folder_.path() / "other"), HasSubstr("chmod o-rwx"));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0750), 0);

  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660);
  socket_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));

  // The socket of a killed member is taken over.
  const transport::http::Descriptor left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(left.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  Listen();
}

// Not even when the modes of folder and socket are wrong.
TEST_F(AppSocketTest, AnotherUserIsSentAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  constexpr int kAnswered = 3, kSentAway = 4;
  const auto as = [&](gid_t group) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(group) != 0 || ::setuid(65534) != 0) _exit(1);
      AppForTest app(path_);
      if (!app.connected()) _exit(2);
      (void)app.Send(FrameOf(AppFrame::kExchange, {}));
      const auto frame = app.Receive();
      _exit(frame.has_value() && frame->text().find("not in the group") == std::string::npos
                ? kAnswered
                : kSentAway);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  link_.End("{}");
  EXPECT_EQ(as(65534), kSentAway);
  EXPECT_EQ(as(::getegid()), kAnswered) << "the group of the folder";
}

}  // namespace
}  // namespace tacet::site

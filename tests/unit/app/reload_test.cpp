#include "app/reload.h"

#include <gmock/gmock.h>

#include <future>

#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::app {
namespace {

// Of "secret".
const std::string kHash = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";

class ReloadTest : public ::testing::Test {
 protected:
  ReloadTest() {
    options_.config_file = path("site");
    options_.web.config_file = path("web");
    write("site", "limits: {puts: {series: 7}}\n");
    write("web", "http_server_config: {headers: {X-Frame-Options: deny}}\n");
  }
  std::string path(const std::string& name) const { return folder_.path("/" + name); }
  void write(const std::string& name, const std::string& text) const {
    folder_.write("/" + name, text);
  }
  Reload::Users users() {
    return {[this](const SiteSettings& site) { used_.push_back(site.options.limits.puts.series); },
            [this](ConfigSample sample) { told_ = sample; }};
  }

  const TemporaryFolder folder_;
  Options options_;
  std::vector<std::uint64_t> used_;
  ConfigSample told_;
};

TEST_F(ReloadTest, ABadFileLeavesTheOldInForce) {
  Reload reload(options_, {});
  ASSERT_TRUE(reload.open_web());
  reload.connect(users());
  EXPECT_TRUE(told_.successful);
  const double began = told_.success_time_seconds;
  EXPECT_GT(began, 1e9);
  EXPECT_TRUE(used_.empty());  // the start uses it itself

  write("site", "limits: {puts: {series: many}}\n");
  EXPECT_EQ(error_of(reload.reload()),
            path("site") +
                ":1:25: limits.puts.series: \"many\" is no whole number from 1 to "
                "10000000");
  EXPECT_TRUE(used_.empty());
  EXPECT_FALSE(told_.successful);
  EXPECT_EQ(told_.success_time_seconds, began);

  write("site", "limits: {puts: {series: 11}}\n");
  EXPECT_TRUE(reload.reload());
  EXPECT_EQ(used_, std::vector<std::uint64_t>{11});
  EXPECT_TRUE(told_.successful);
  EXPECT_GE(told_.success_time_seconds, began);
}

TEST_F(ReloadTest, FlagsStayAboveTheNewFile) {
  options_.flags = {{"limit", {"puts=5"}}};
  Reload reload(options_, {});
  reload.connect(users());
  EXPECT_TRUE(reload.reload());
  EXPECT_EQ(used_, std::vector<std::uint64_t>{5});
}

TEST_F(ReloadTest, ABadWebFileIsToldToo) {
  Reload reload(options_, {});
  ASSERT_TRUE(reload.open_web());
  reload.connect(users());
  EXPECT_EQ(reload.headers().at("X-Frame-Options"), "deny");
  write("web", "tls_server_config: {}\n");
  EXPECT_FALSE(reload.reload());
  EXPECT_FALSE(told_.successful);
  EXPECT_EQ(used_.size(), 1u);  // the other file is good
  EXPECT_EQ(reload.headers().at("X-Frame-Options"), "deny");
}

TEST_F(ReloadTest, AWebFileThatChangedIsReadBeforeTheNextAnswer) {
  Reload reload(options_, {});
  ASSERT_TRUE(reload.open_web());
  write("web", "basic_auth_users: {alice: " + kHash + "}\n");
  web::Request request;
  EXPECT_EQ(value_of(reload.admit(request).refusal).status, 401);
  EXPECT_TRUE(reload.headers().empty());
}

// A disk that does not answer.
TEST_F(ReloadTest, AFileThatIsReadForLongHoldsUpNoAnswer) {
  write("web", "basic_auth_users: {alice: " + kHash + "}\n");
  Reload reload(options_, {});
  ASSERT_TRUE(reload.open_web());
  std::promise<void> reads, may_end;
  Reload::Users users = this->users();
  users.begins = [&] {
    reads.set_value();
    may_end.get_future().wait();
  };
  reload.connect(std::move(users));
  auto reloaded = std::async(std::launch::async, [&] { return reload.reload().ok(); });
  reads.get_future().wait();
  EXPECT_EQ(value_of(reload.admit({}).refusal).status, 401);
  EXPECT_EQ(reload.tls(), nullptr);
  may_end.set_value();
  EXPECT_TRUE(reloaded.get());
}

TEST_F(ReloadTest, NoFileTurnsPasswordsOff) {
  write("web", "basic_auth_users: {alice: " + kHash + "}\n");
  Reload reload(options_, {});
  ASSERT_TRUE(reload.open_web());
  reload.connect(users());
  for (const char* text : {"", "# basic_auth_users:\n", "basic_auth_users: {}\n", "{}\n",
                           "http_server_config: {headers: {X-Frame-Options: deny}}\n"}) {
    write("web", text);
    EXPECT_THAT(error_of(reload.reload()),
                testing::HasSubstr("restart ioc_exporter if that is meant"))
        << text;
    EXPECT_EQ(value_of(reload.admit({}).refusal).status, 401) << text;
    EXPECT_FALSE(told_.successful);
  }
  write("web", "basic_auth_users: {bob: " + kHash + "}\n");
  EXPECT_TRUE(reload.reload());
  EXPECT_TRUE(told_.successful);
}

TEST_F(ReloadTest, AWebFileThatIsWrongAtTheStartIsAnError) {
  write("web", "basic_auth_users: {alice: secret}\n");
  Reload reload(options_, {});
  EXPECT_FALSE(reload.open_web());
}

}  // namespace
}  // namespace ioc_exporter::app

// One POST to a receiver that acknowledges by HTTP, and what its answer means.
#include "delivery/receiver.h"

#include <gtest/gtest.h>

#include "support/answering_server.h"

namespace ioc_exporter::delivery {
namespace {

using std::chrono::seconds;

Delivered push_to(AnsweringServer& server) {
  return push({{server.url() + "/push", "text/plain", "hello", {}, {}}, 3, "push"});
}

TEST(Receiver, SaysWhenItIsToBeAskedAgain) {
  for (const auto& [after, pause] : {std::pair{"7", std::optional(seconds(7))},
                                     {" 7 ", seconds(7)},
                                     {"0", {}},
                                     {"86400", seconds(600)},
                                     {"-1", {}},
                                     {"Mon, 23 Nov 2026 07:00:00 GMT", {}}}) {
    AnsweringServer server(
        {http_answer(503, "busy", std::string("Retry-After: ") + after + "\r\n")});
    const Delivered done = push_to(server);
    EXPECT_EQ(done.pause, pause) << after;
    EXPECT_EQ(done.problem->message(), "push: status 503: busy");
    EXPECT_EQ(done.entries + done.refused, 0u);
  }
}

TEST(Receiver, PermanentRefusalsAreNotRetried) {
  AnsweringServer server({http_answer(400, "no\nsuch", "retry-after: 7\r\n")});
  const Delivered done = push_to(server);
  EXPECT_EQ(done.refused, 3u);
  EXPECT_EQ(done.problem->message(), "push: status 400: no_such");
}

TEST(Receiver, WithoutEntriesNobodyIsAsked) {
  const Delivered done = push({{"http://127.0.0.1:1/", "text/plain", "", {}, {}}, 0, "push"});
  EXPECT_FALSE(done.problem);
}

// As those do that repeat the request in their answer. Nor a part of one, where words are
// shortened.
TEST(Receiver, EchoedLoginsAndHeadersAreNotReported) {
  const std::string dashes(195, '-');
  for (const auto& [said, told] :
       {std::pair<std::string, std::string>{
            "eve:secret, Basic ZXZlOnNlY3JldA==, secret; Bearer to-ken, to-ken; site 1; end",
            "***, Basic ***, ***; ***, ***; ***; end"},
        {dashes + "eve:secret", dashes + "***"}}) {
    AnsweringServer server({http_answer(401, said)});
    Push push_of{{server.url(), "text/plain", "hello", {}, {}}, 3, "push"};
    push_of.post.as.login = "eve:secret";
    push_of.post.headers = {{"X-Auth", "Bearer to-ken"}, {"X-Empty", ""}, {"X-Tenant", "site 1"}};
    EXPECT_EQ(push(push_of).problem->message(), "push: status 401: " + told);
  }
}

TEST(Receiver, ProblemsReadFromAcceptedAnswersHideSecrets) {
  AnsweringServer server({http_answer(200, "no room for eve:secret")});
  Push push_of{{server.url(), "text/plain", "hello", {}, {}}, 3, "push eve:secret"};
  push_of.post.as.login = "eve:secret";
  push_of.read = [](const Fetched& answer, Delivered& done) {
    done.problem = error_in_words("push eve:secret: " + answer.body);
  };
  EXPECT_EQ(push(push_of).problem->message(), "push eve:secret: no room for ***");
}

TEST(Receiver, UrlsAreChecked) {
  for (const char* good : {"http://a", "https://a", "http://a:1", "http://[::1]:1/b"})
    EXPECT_TRUE(check_url(good, "x")) << good;
  for (const char* bad : {"", "a:1", "ftp://a", "http://a/"})
    EXPECT_FALSE(check_url(bad, "x")) << bad;
  EXPECT_TRUE(check_header("site 1", "x"));
  EXPECT_FALSE(check_header("a\r\nb: c", "x"));
}

}  // namespace
}  // namespace ioc_exporter::delivery

#include "base/site.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(const SiteTargets& targets) {
  std::vector<std::string> all;
  for (const SiteTarget& one : value_of(targets)) all.push_back(one.name + " " + one.url);
  return all;
}

SiteTargets of_file(const std::string& text) {
  return targets_of_file(text, "site.yml");
}

TEST(SiteTargets, OfAFileEachAddressOnce) {
  EXPECT_THAT(texts(of_file("- targets: [a:1, 'b:2']\n"
                            "  labels: {area: ring}\n"
                            "- targets:\n  - a:1\n  - '[::1]:3'\n"
                            "- labels: {__scheme__: https, instance: gate}\n  targets: [c:4]\n")),
              ElementsAre("a:1 http://a:1", "b:2 http://b:2", "[::1]:3 http://[::1]:3",
                          "gate https://c:4"));
  EXPECT_THAT(texts(of_file("[\n\t{\n\t\t\"targets\": [\"a\\u003a1\", \"b:2\"],\n\t\t\"labels\": "
                            "{\"__scheme__\": \"https\", \"x\": \"\\\"y\"}\n\t}\n]\n")),
              ElementsAre("a:1 https://a:1", "b:2 https://b:2"));
}

TEST(SiteTargets, ErrorsOfAFileNameTheLine) {
  for (const auto& [text, problem] : {std::pair{"", "site.yml: it is no list of groups"},
                                      {"[]", "site.yml has no exporter"},
                                      {"targets: [a:1]", "site.yml: it is no list of groups"},
                                      {"- targets: [a:1]\n- labels: {a: b}", "site.yml:2:3: "},
                                      {"- targets: [a:1/x]", "\"a:1/x\" is not HOST:PORT"},
                                      {"- targets: [u:p@a]", "is not HOST:PORT"},
                                      {"- targets: [a:1]\n  target: b", "site.yml:2:"},
                                      {"- targets: [a:1\n", "site.yml:"},
                                      {"- a:1", "site.yml:1:3: "}}) {
    const auto targets = of_file(text);
    ASSERT_FALSE(targets) << text;
    EXPECT_THAT(targets.error().message(), HasSubstr(problem)) << text;
  }
}

std::string scraped(const std::string& url, const std::string& job, const std::string& instance) {
  return R"({"labels":{"job":")" + job + R"(","instance":")" + instance + R"("},"scrapeUrl":")" +
         url + R"(","health":"down"})";
}

SiteTargets of_prometheus(const std::vector<std::string>& targets) {
  std::string json = R"({"status":"success","data":{"activeTargets":[)";
  for (const std::string& one : targets) json += (one == targets.front() ? "" : ",") + one;
  return targets_of_prometheus(json + "]}}", "ioc_exporter");
}

TEST(SiteTargets, OfAPrometheusThoseOfTheJob) {
  EXPECT_THAT(
      texts(of_prometheus({scraped("http://a:10064/metrics", "ioc_exporter", "a"),
                           scraped("http://n:9100/metrics", "node", "n"),
                           scraped("https://b:1/metrics?x=/y", "ioc_exporter", "b"),
                           scraped("http://a:10064/metrics", "ioc_exporter", "again"),
                           scraped("http://c:2/elsewhere/it", "ioc_exporter", "c"),
                           R"({"labels":{"job":"ioc_exporter"},"scrapeUrl":"http://d:3"})"})),
      ElementsAre("a http://a:10064", "b https://b:1", "c http://c:2", "http://d:3 http://d:3"));
}

TEST(SiteTargets, ThoseOfAPrometheusGetNoLoginByHttpOnOtherHosts) {
  for (const auto& [url, gets_login] : {std::pair{"https://a:1/metrics", true},
                                        {"HTTPS://a:1/metrics", true},
                                        {"http://a:1/metrics", false},
                                        {"http://127.0.0.1:1/metrics", true},
                                        {"http://localhost", true},
                                        {"http://[::1]:2/metrics", true},
                                        {"http://127.0.0.2:1/metrics", false},
                                        {"http://localhost.a:1/metrics", false},
                                        {"http://localhost@a:1/metrics", false},
                                        {"http://127.0.0.1:1@a:1/metrics", false}})
    EXPECT_EQ(value_of(of_prometheus({scraped(url, "ioc_exporter", "")}))[0].gets_login, gets_login)
        << url;
  EXPECT_TRUE(value_of(of_file("- targets: [a:1]"))[0].gets_login);
}

TEST(SiteTargets, OneAddressHoweverItIsWritten) {
  EXPECT_THAT(texts(of_file("- targets: ['Host:080', 'hOST', 'host:80', '[::A]:1', '[::a]:01', "
                            "'host:443']\n"
                            "- labels: {__scheme__: https}\n  targets: [host, 'host:443']\n")),
              ElementsAre("Host:080 http://Host:080", "[::A]:1 http://[::A]:1",
                          "host:443 http://host:443", "host https://host"));
}

TEST(SiteTargets, PathsBehindOneAddress) {
  const SiteTargets targets = of_prometheus({scraped("http://p:1/one/metrics", "ioc_exporter", "1"),
                                             scraped("http://p:1/two/metrics", "ioc_exporter", "2"),
                                             scraped("http://p:1/three", "ioc_exporter", "3"),
                                             scraped("http://P:1/three", "ioc_exporter", "3 again"),
                                             scraped("http://p:1/four", "ioc_exporter", "4")});
  EXPECT_THAT(texts(targets),
              ElementsAre("1 http://p:1/one", "2 http://p:1/two", "3 http://p:1", "4 http://p:1"));
  EXPECT_EQ(value_of(targets)[2].problem, "");
  EXPECT_EQ(
      value_of(targets)[3].problem,
      "where to ask is not known: its metrics are at /four, and http://p:1 is asked for those "
      "at /three");
  EXPECT_THAT(texts(of_file("- targets: [p:1]\n  labels: {__metrics_path__: /one/metrics}\n")),
              ElementsAre("p:1 http://p:1/one"));
}

TEST(SiteTargets, NothingOfAFileSteersTheTerminal) {
  EXPECT_EQ(terminal_lines("a\x1b[2J\nb\r"), "a_[2J\nb_");
  EXPECT_EQ(terminal_lines(""), "-");
}

TEST(SiteTargets, AnswersOfOthersAreErrors) {
  for (const char* json :
       {"", "<html>", "[]", "{}", R"({"data":{"activeTargets":[7]}})",
        R"({"data":{"activeTargets":[{"labels":{"job":"ioc_exporter"},"scrapeUrl":5}]}})",
        R"({"data":{"activeTargets":[{"labels":{"job":1},"scrapeUrl":"http://a"}]}})"}) {
    const auto targets = targets_of_prometheus(json, "ioc_exporter");
    ASSERT_FALSE(targets) << json;
    EXPECT_THAT(targets.error().message(), HasSubstr("not as Prometheus does")) << json;
  }
  EXPECT_EQ(of_prometheus({}).error().message(), "the job \"ioc_exporter\" has no exporter");
  std::vector<std::string> many;
  for (int i = 0; i <= 10'000; ++i)
    many.push_back(scraped("http://a:" + std::to_string(i), "ioc_exporter", "a"));
  EXPECT_THAT(of_prometheus(many).error().message(), HasSubstr("has more than 10000 exporters"));
}

CommandLine line_of(std::vector<const char*> arguments) {
  return value_of(
      parse_command(with_site_options({}), static_cast<int>(arguments.size()), arguments.data()));
}

TEST(SiteOptions, AreCheckedTogether) {
  EXPECT_FALSE(value_of(site_options(line_of({"--url=http://x"}))));
  const auto site = *value_of(site_options(line_of({"--targets=f", "--timeout=250ms"})));
  EXPECT_EQ(site.file, "f");
  EXPECT_EQ(site.timeout, std::chrono::milliseconds(250));
  using Arguments = std::vector<const char*>;
  for (const auto& [arguments, problem] :
       {std::pair{Arguments{"--targets=f", "--prometheus=u"}, "only one"},
        {{"--targets=f", "--url=u"}, "only one"},
        {{"--prometheus=p", "--url=u"}, "only one"},
        {{"--job=j"}, "need --targets or --prometheus"},
        {{"--timeout=1s"}, "need --targets or --prometheus"},
        {{"--targets=f", "--timeout=0"}, "no time at all"},
        {{"--targets=f", "--timeout=soon"}, "--timeout: "}}) {
    const auto options = site_options(line_of(arguments));
    ASSERT_FALSE(options) << problem;
    EXPECT_THAT(options.error().message(), HasSubstr(problem));
  }
}

TakeAnswer refuse() {
  return [](const std::string&, const std::string&) { return error_in_words("never"); };
}

// 1,009 of them, on addresses of loopback where nobody listens, with few descriptors.
TEST(AskSite, AllAreAskedInTheOrderOfTheListHoweverManyThereAre) {
  const TemporaryFolder folder;
  std::string list;
  std::vector<std::string> names;
  for (int i = 0; i < 1009; ++i) {
    names.push_back("127.1." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ":1");
    list += "- targets: ['" + names.back() + "']\n";
  }
  folder.write("/site.yml", list);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string option = "--targets=" + folder.path("/site.yml");
  const CommandLine line = line_of({option.c_str()});
  const auto answers = ask_site(line, *value_of(site_options(line)), "/x", refuse());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(answers) << answers.error().message();
  EXPECT_EQ(answers->asked, names.size());
  EXPECT_EQ(answers->status(false), 1);
  ASSERT_EQ(answers->unanswered.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(answers->unanswered[i].exporter, names[i]);
    const std::string host = names[i].substr(0, names[i].find(':'));
    EXPECT_EQ(answers->unanswered[i].why, "connect to " + host + " port 1: Connection refused");
  }
}

TEST(AskSite, WithoutAListIsAnError) {
  const CommandLine line = line_of({"--targets=/no/such/file"});
  EXPECT_THAT(ask_site(line, *value_of(site_options(line)), "/x", refuse()).error().message(),
              HasSubstr("/no/such/file"));
  const CommandLine nowhere = line_of({"--prometheus=http://127.0.0.1:1/"});
  EXPECT_EQ(ask_site(nowhere, *value_of(site_options(nowhere)), "/x", refuse()).error().message(),
            "ask the Prometheus at http://127.0.0.1:1/: connect to 127.0.0.1 port 1: Connection "
            "refused");
}

TEST(SiteAnswers, SayWhoDidNotAnswer) {
  SiteAnswers answers{2, {}};
  EXPECT_EQ(answers.status(true), 0);
  EXPECT_EQ(answers.status(false), 3);
  answers.unanswered.push_back({"a:1", "gone"});
  EXPECT_EQ(answers.status(true), 4);
  EXPECT_EQ(answers.status(false), 4);
  EXPECT_EQ(answers.lines("puts"), "ioc_exporter puts: a:1 did not answer: gone\n");
  answers.unanswered.push_back({"b:1", "late"});
  EXPECT_EQ(answers.status(true), 1);
}

}  // namespace
}  // namespace ioc_exporter

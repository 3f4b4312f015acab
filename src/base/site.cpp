#include "base/site.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <thread>
#include <utility>

#include <re2/re2.h>

#include "base/ascii.h"
#include "base/json_reader.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "base/yaml_reader.h"

namespace ioc_exporter {
namespace {

constexpr std::size_t kMostTargets = 10'000;
constexpr std::size_t kMostOfOne = 16u << 20, kMostOfAll = 512u << 20;
// At a time. Each takes a socket, and a few descriptors to look its name up.
constexpr std::size_t kSideBySide = 64, kDescriptorsOfOne = 8;

constexpr const char* kSiteHelp =
    R"help(  --targets=FILE
              ask all exporters of FILE: JSON or YAML as for Prometheus' file_sd_configs; by https
              those with its label __scheme__: https
  --prometheus=URL
              ask all exporters that this Prometheus scrapes
  --job=JOB   the job of the exporters in that Prometheus (default: ioc_exporter)
  --timeout=DURATION
              time for each of these answers, and that of Prometheus (default: 5s)
)help";

// `address`: SCHEME://HOST:PORT. `path`: where the metrics are, with its query.
SiteTarget target_at(const std::string& name, const std::string& address, std::string_view path) {
  path = path.substr(0, path.find_first_of("?#"));
  if (path.empty()) path = "/metrics";
  SiteTarget target{name.empty() ? address : name, address, std::string(path)};
  if (path.ends_with("/metrics")) target.url += path.substr(0, path.size() - 8);
  return target;
}

// The same for each way to write an URL, but for the host's names.
std::string plain(const std::string& url) {
  static const re2::RE2 form(R"((?i)((https?)://(?:[^/:\[\]]+|\[[^\]]*\]))(?::0*([0-9]+))?(/.*)?)",
                             re2::RE2::Latin1);
  std::string host, scheme, port, path;
  if (!re2::RE2::FullMatch(url, form, &host, &scheme, &port, &path)) return url;
  if (port.empty()) port = scheme.size() == 5 ? "443" : "80";
  std::ranges::transform(host, host.begin(), lower);
  return host + ":" + port + path;
}

// Each URL once; those that differ in what is no part of it are a problem.
SiteTargets checked(std::vector<SiteTarget> targets, const std::string& of) {
  std::map<std::string, std::string> paths;
  std::erase_if(targets, [&](SiteTarget& one) {
    const auto& [known, is_new] = paths.emplace(plain(one.url), one.path);
    if (is_new || known->second == one.path) return !is_new;
    one.problem = "where to ask is not known: its metrics are at " + one.path + ", and " + one.url +
                  " is asked for those at " + known->second;
    return false;
  });
  if (targets.empty()) return error_in_words(of + " has no exporter");
  if (targets.size() <= kMostTargets) return targets;
  return error_in_words(of + " has more than " + std::to_string(kMostTargets) + " exporters");
}

void read_group(Reader& group, std::vector<SiteTarget>& list) {
  std::string name, scheme = "http", path;
  if (group.has("labels"))
    group.pairs("labels", [&](const Pair& label) {
      if (label.name == "instance") name = label.value;
      if (label.name == "__scheme__") scheme = label.value;
      if (label.name == "__metrics_path__") path = label.value;
    });
  if (!group.require("targets")) return;
  for (const std::string& target : group.texts("targets")) {
    if (target.empty() || target.find_first_of("/?#@ ") != std::string::npos)
      group.complain("targets", shown(target) + " is not HOST:PORT");
    else
      list.push_back(target_at(name.empty() ? target : name, scheme + "://" + target, path));
  }
}

// Whether nobody on the network can read what is sent there.
bool is_private(const std::string& url) {
  static const re2::RE2 form(
      R"((?i)https://.*|http://(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]*)?(?:/.*)?)",
      re2::RE2::Latin1);
  return re2::RE2::FullMatch(url, form);
}

std::size_t side_by_side() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<rlim_t>(limit.rlim_cur / kDescriptorsOfOne, 1, kSideBySide);
}

Result<std::string> answer_of(const SiteTarget& one, const std::string& target,
                              std::chrono::milliseconds timeout, FetchAs as) {
  constexpr int kUnauthorized = 401;
  if (!one.problem.empty()) return error_in_words(one.problem);
  const bool withheld = !one.gets_login && !std::exchange(as.login, {}).empty();
  auto fetched = fetch(one.url + target, timeout, as, kMostOfOne);
  if (withheld && fetched && fetched->status == kUnauthorized)
    return error_in_words(
        "it asks for a login, which is not sent by http to a host that a Prometheus names: use "
        "https, or list the host in a file for --targets");
  // No puts are an empty answer, too, of lines of JSON.
  if (fetched && fetched->status == 200 && fetched->body.empty() &&
      !fetched->content_type.starts_with("application/x-ndjson"))
    return unlike_ours("it is empty");
  return body_of(std::move(fetched));
}

SiteTargets targets_of(const CommandLine& line, const SiteOptions& site) {
  if (!site.file.empty()) {
    const auto text = read_text(site.file);
    return text ? targets_of_file(*text, site.file) : SiteTargets(text.error());
  }
  auto as = asker_of(line);
  if (!as) return std::move(as).error();
  std::string url = site.prometheus;
  while (url.ends_with('/')) url.pop_back();
  const auto json = body_of(fetch(url + "/api/v1/targets?state=active", site.timeout, *as));
  auto targets = json ? targets_of_prometheus(*json, site.job) : SiteTargets(json.error());
  if (targets) return targets;
  return error_in_words("ask the Prometheus at " + site.prometheus + ": " +
                        targets.error().message());
}

}  // namespace

SiteTargets targets_of_file(const std::string& text, const std::string& file) {
  Problems problems(file);
  const YAML::Node groups = parse_yaml(text, problems);
  std::vector<SiteTarget> list;
  if (problems.empty() && !groups.IsSequence())
    problems.add({}, "it is no list of groups with the key targets");
  for (std::size_t i = 0; problems.empty() && i < groups.size(); ++i) {
    Reader group(groups[i], "[" + std::to_string(i) + "]", problems);
    read_group(group, list);
    group.finish();
  }
  if (!problems.empty()) return problems.error();
  return checked(std::move(list), file);
}

SiteTargets targets_of_prometheus(const std::string& json, const std::string& job) {
  auto list = read_json(json, [&job](const Json& answer) {
    std::vector<SiteTarget> all;
    for (const Json& target : answer.at("data").at("activeTargets").items()) {
      const Json& labels = target.at("labels");
      if (labels.text_at("job") != job) continue;
      const std::string& scraped = target.at("scrapeUrl").text();
      const std::size_t end = std::min(scraped.find('/', scraped.find("://") + 3), scraped.size());
      all.push_back(
          target_at(labels.text_at("instance"), scraped.substr(0, end), scraped.substr(end)));
      all.back().gets_login = is_private(scraped);
    }
    return all;
  });
  if (list) return checked(std::move(*list), "the job " + shown(job));
  return error_in_words("it answers, but not as Prometheus does: " + list.error().message());
}

CommandOptions with_site_options(CommandOptions options) {
  for (const char* none : {"targets", "prometheus"}) options.values.emplace(none, "");
  options.values.emplace("job", "ioc_exporter");
  options.values.emplace("timeout", "5s");
  return with_exporter_options(std::move(options));
}

std::string with_site_help(std::string help) {
  constexpr std::string_view kMark = "@site@\n";
  return with_exporter_help(help.replace(help.find(kMark), kMark.size(), kSiteHelp));
}

Result<std::optional<SiteOptions>> site_options(const CommandLine& line) {
  const auto& values = line.values;
  const auto given = [&line](const char* option) { return line.given.contains(option); };
  const int lists = given("targets") + given("prometheus");
  if (lists + given("url") > 1) return error_in_words("--url, --targets or --prometheus: only one");
  if (lists == 0 && (given("job") || given("timeout")))
    return error_in_words("--job and --timeout need --targets or --prometheus");
  if (lists == 0) return std::optional<SiteOptions>();
  const auto timeout = parse_duration(values.at("timeout"));
  if (!timeout) return error_in_words("--timeout: " + timeout.error().message());
  if (timeout->count() == 0) return error_in_words("--timeout: no time at all");
  return std::optional(
      SiteOptions{values.at("targets"), values.at("prometheus"), values.at("job"), *timeout});
}

Result<SiteAnswers> ask_site(const CommandLine& line, const SiteOptions& site,
                             const std::string& target, const TakeAnswer& take) {
  const auto targets = targets_of(line, site);
  if (!targets) return targets.error();
  const auto as = asker_of(line);
  if (!as) return as.error();
  std::vector<Result<std::string>> bodies(targets->size(), std::string());
  std::atomic<std::size_t> next = 0, bytes = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < bodies.size(); i = next++) {
      bodies[i] = answer_of((*targets)[i], target, site.timeout, *as);
      if (bodies[i] && (bytes += bodies[i]->size()) > kMostOfAll)
        bodies[i] = error_in_words("the answers of all are longer than 512 MiB");
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t n = 1; n < std::min(side_by_side(), bodies.size()); ++n)
    others.emplace_back(work);
  work();
  others.clear();
  SiteAnswers answers{bodies.size(), {}};
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const std::string exporter = terminal_cell((*targets)[i].name);
    const auto body = std::exchange(bodies[i], std::string());
    const auto taken = body ? take(exporter, *body) : Result<void>(body.error());
    if (!taken) answers.unanswered.push_back({exporter, terminal_cell(taken.error().message())});
  }
  return answers;
}

std::string terminal_lines(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    clean += (at == 0 ? "" : "\n") + terminal_cell(std::string(text.substr(at, end - at)));
    at = end + 1;
  }
  return clean;
}

std::string SiteAnswers::lines(const std::string& command) const {
  std::string text;
  for (const auto& [exporter, why] : unanswered)
    text += "ioc_exporter " + command + ": " + exporter + " did not answer: " + why + "\n";
  return text;
}

int SiteAnswers::status(bool any) const {
  constexpr int kNoneAnswered = 1, kNothing = 3, kSomeDidNotAnswer = 4;
  if (!unanswered.empty()) return unanswered.size() < asked ? kSomeDidNotAnswer : kNoneAnswered;
  return any ? 0 : kNothing;
}

}  // namespace ioc_exporter

#include "delivery/receiver.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include <absl/strings/escaping.h>
#include <absl/strings/str_join.h>
#include <re2/re2.h>

#include "base/utf8.h"
#include "base/value_text.h"

namespace ioc_exporter::delivery {
namespace {

constexpr std::chrono::seconds kAnswerPatience{5}, kReceiverLongestPause{600};
constexpr std::size_t kMostWords = 200;

// Secrets that must not appear in the log, the longest first.
std::vector<std::string> secrets_of(const HttpPost& post) {
  std::vector<std::string> secrets;
  if (const std::string& login = post.as.login; !login.empty()) {
    secrets = {login, absl::Base64Escape(login)};
    if (const auto colon = login.find(':'); colon != std::string::npos)
      secrets.push_back(login.substr(colon + 1));
  }
  for (const auto& [name, value] : post.headers) {
    secrets.push_back(value);
    secrets.push_back(value.substr(value.rfind(' ') + 1));  // "Bearer TOKEN": the token alone
  }
  std::erase(secrets, "");
  std::stable_sort(secrets.begin(), secrets.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return secrets;
}

std::string without(const std::vector<std::string>& secrets, std::string text) {
  const auto quoted = [](std::string* all, const std::string& secret) {
    *all += re2::RE2::QuoteMeta(secret);
  };
  const re2::RE2 any(absl::StrJoin(secrets, "|", quoted), re2::RE2::Latin1);
  if (!any.ok()) return "***";
  if (!secrets.empty()) re2::RE2::GlobalReplace(&text, any, "***");
  return text;
}

// In what an answer made of it; how it begins is ours.
void hide_secrets(const Push& push, Error& problem) {
  const std::size_t ours = problem.context.starts_with(push.where) ? push.where.size() : 0;
  problem.context.replace(ours, std::string::npos,
                          without(secrets_of(push.post), problem.context.substr(ours)));
}

}  // namespace

Result<HostAndPort> parse_host_and_port(const std::string& text) {
  const auto refuse = [&text] {
    return error_in_words(shown(text) + " is no HOST:PORT, such as loghost:7011");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return refuse();
  HostAndPort parsed{text.substr(0, colon), text.substr(colon + 1)};
  if (parsed.host.starts_with('[') && parsed.host.ends_with(']'))
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  else if (parsed.host.find(':') != std::string::npos)
    return refuse();
  if (parsed.host.empty() || !parse_whole_number(parsed.port, 1, 65'535)) return refuse();
  return parsed;
}

Result<void> check_url(const std::string& url, const std::string& example) {
  const bool known = url.starts_with("http://") || url.starts_with("https://");
  if (known && !url.ends_with('/')) return {};
  return error_in_words(shown(url) + " is no URL such as " + example);
}

Result<void> check_header(const std::string& text, const std::string& what) {
  if (text == printable_utf8(text, text.size())) return {};
  return error_in_words(shown(text) + " is no " + what);
}

HttpPost HttpReceiver::post(const std::string& path, const std::string& content_type) const {
  return {url.ends_with(path) ? url : url + path, content_type, {}, as, headers};
}

bool is_refused_for_good(int status) {
  return status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 &&
         status != 429;
}

Delivered push(const Push& push) {
  Delivered done;
  if (push.entries == 0) return done;
  const auto answer = send_post(push.post, kAnswerPatience);
  if (!answer) {
    done.problem = answer.error();
    return done;
  }
  if (answer->status / 100 == 2) {
    done.entries = push.entries;
    if (push.read) push.read(*answer, done);
    if (done.problem) hide_secrets(push, *done.problem);
    return done;
  }
  const std::string said = push.words ? push.words(*answer) : answer->body;
  const std::string words = printable_utf8(without(secrets_of(push.post), said), kMostWords);
  done.problem = error_in_words(push.where + ": status " + std::to_string(answer->status) +
                                (words.empty() ? "" : ": ") + words);
  if (push.is_refused(answer->status))
    done.refused = push.entries;
  else if (answer->retry_after.count() > 0)
    done.pause = std::min(answer->retry_after, kReceiverLongestPause);
  return done;
}

}  // namespace ioc_exporter::delivery

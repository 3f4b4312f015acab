#include "putlog/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "base/time_text.h"
#include "base/unique_fd.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::string_view kBegin = "{\"time\":\"";

struct Files {
  std::vector<UniqueFd> newest_first;
  bool are_all = true;  // false: there are older ones
};

// Not those whose last line is older than `since`. While the exporter renames its files one number
// at a time is missing, and a file may be met again with the next number.
Result<Files> open_files(const std::string& path, const Since& since) {
  Files files;
  std::set<ino_t> seen;
  for (unsigned number = 0, missing = 0; missing < 2; ++number) {
    const std::string name = number == 0 ? path : path + "." + std::to_string(number);
    UniqueFd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file && errno == ENOENT) {
      ++missing;
      continue;
    }
    missing = 0;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return last_error("open " + name);
    if (!S_ISREG(status.st_mode)) return error_in_words("open " + name + ": it is no regular file");
    if (!seen.insert(status.st_ino).second) continue;
    // The times of files lag behind by a tick of the kernel's clock.
    const std::chrono::sys_seconds written(std::chrono::seconds(status.st_mtim.tv_sec + 1));
    if (since && written < *since) {
      files.are_all = false;
      break;
    }
    files.newest_first.push_back(std::move(file));
  }
  if (seen.empty()) return error_in_words("open " + path + ": there is no such file");
  return files;
}

// The text after `key`, which has its quotes and the one before the text: in texts each quote has a
// backslash before it. Reading each line as JSON would take twice as long, and more.
std::string text_after(std::string_view line, std::string_view key) {
  const std::size_t found = line.find(key);
  if (found == std::string_view::npos) return {};
  line.remove_prefix(found + key.size());
  std::size_t end = 0;
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2u : 1u;
  line = line.substr(0, end);
  if (line.find('\\') == std::string_view::npos) return std::string(line);
  const auto json = Json::parse("[\"" + std::string(line) + "\"]");
  return json ? json->items().front().text() : std::string();
}

// What filters ask for.
PutEvent event_of(std::string_view line) {
  PutEvent event;
  event.ioc = text_after(line, "\"ioc\":\"");
  event.client = text_after(line, "\"client\":\"");
  event.user = text_after(line, "\"user\":\"");
  event.pv = text_after(line, "\"pv\":\"");
  event.action = text_after(line, "\"action\":\"");
  event.inside = line.find("\"inside\":true") != std::string_view::npos;
  if (line.find("\"fields\":[") == std::string_view::npos) return event;
  const auto put = Json::parse(line);
  const Json* const fields = put ? put->find("fields") : nullptr;
  if (fields == nullptr || fields->get_if<Json::Array>() == nullptr) return event;
  for (const Json& one : fields->items()) event.fields.emplace_back().field = one.text_at("field");
  return event;
}

// The lines of a file. The last one is none while the exporter writes it.
class Lines {
 public:
  explicit Lines(UniqueFd file) : file_(::fdopen(file.get(), "r"), std::fclose) {
    if (file_) (void)file.release();
  }
  ~Lines() { std::free(text_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::optional<std::string_view> next() {
    const ssize_t length = file_ ? ::getline(&text_, &room_, file_.get()) : -1;
    if (length <= 0 || text_[length - 1] != '\n') return std::nullopt;
    return std::string_view(text_, static_cast<std::size_t>(length) - 1);
  }
  bool is_good() const { return file_ && std::ferror(file_.get()) == 0; }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  char* text_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace

Result<FilesRead> read_log_files(const std::string& path, const PutQuery& query,
                                 const std::function<bool(std::string_view line)>& take) {
  auto files = open_files(path, query.since);
  if (!files) return std::move(files).error();
  FilesRead read;
  const std::string since = query.since ? time_text(*query.since) : "",
                    until = query.until ? time_text(*query.until) : "~";  // after all times
  bool is_first = files->are_all;
  for (; !files->newest_first.empty(); files->newest_first.pop_back()) {
    Lines lines(std::move(files->newest_first.back()));
    while (const auto line = lines.next()) {
      // All times are texts of one length.
      const std::string_view time = line->substr(std::min(kBegin.size(), line->size()), 30);
      if (!line->starts_with(kBegin) || !line->ends_with('}')) {
        ++read.unlike;
        continue;
      }
      if (std::exchange(is_first, false)) read.reach = time;
      if (time < since || time > until) continue;
      if (query.filter.wants(event_of(*line)) && !take(*line)) return read;
    }
    if (!lines.is_good()) return last_error("read " + path + " and its older files");
  }
  return read;
}

}  // namespace ioc_exporter::putlog

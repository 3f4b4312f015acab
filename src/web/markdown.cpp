#include "web/markdown.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "web/html.h"

namespace ioc_exporter::web {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view kFence = "```";

// Where a link leads; "": nowhere that this server has.
std::string address_of(std::string_view target, std::string_view folder) {
  if (target.starts_with("https://")) return std::string(target);
  const std::string_view name = target.substr(0, target.find('#'));
  if (!name.ends_with(".md") || name.find('/') != npos) return {};
  return joined({folder, name.substr(0, name.size() - 3)});
}

// What stands in a paragraph.
class Inline {
 public:
  Inline(std::string_view text, std::string_view folder) : text_(text), folder_(folder) {}

  std::string html() {
    while (!text_.empty())
      if (!code() && !link() && !emphasis()) plain();
    return std::move(html_);
  }

 private:
  bool code() {
    const auto inner = between("`", "`");
    if (inner) html_ += element("code", "", escaped(*inner));
    return inner.has_value();
  }

  bool link() {
    const std::size_t end = text_.starts_with('[') ? text_.find("](") : npos;
    const std::size_t close = end == npos ? npos : text_.find(')', end);
    if (close == npos) return false;
    const std::string label = Inline(text_.substr(1, end - 1), folder_).html();
    const std::string address = address_of(text_.substr(end + 2, close - end - 2), folder_);
    html_ +=
        address.empty() ? label : joined({"<a href=\"", escaped(address), "\">", label, "</a>"});
    text_.remove_prefix(close + 1);
    return true;
  }

  bool emphasis() {
    const bool strong = text_.starts_with("**");
    const auto inner = strong ? between("**", "**") : between("*", "*");
    if (inner) html_ += element(strong ? "strong" : "em", "", escaped(*inner));
    return inner.has_value();
  }

  void plain() {
    const std::size_t end = std::min(text_.find_first_of("`[*", 1), text_.size());
    html_ += escaped(text_.substr(0, end));
    text_.remove_prefix(end);
  }

  std::optional<std::string_view> between(std::string_view open, std::string_view close) {
    if (!text_.starts_with(open)) return std::nullopt;
    const std::size_t end = text_.find(close, open.size());
    if (end == npos) return std::nullopt;
    const std::string_view inner = text_.substr(open.size(), end - open.size());
    text_.remove_prefix(end + close.size());
    return inner;
  }

  std::string_view text_, folder_;
  std::string html_;
};

class Blocks {
 public:
  explicit Blocks(std::string_view folder) : folder_(folder) {}

  void add(std::string_view line) {
    if (line.starts_with(kFence)) return fence();
    if (in_code_) {
      html_ += escaped(line) + "\n";
      return;
    }
    if (line.empty()) return end_text();
    if (line.starts_with('#')) return heading(line);
    const std::size_t marker = marker_of(line);
    if (marker > 0) {
      end_text();
      begin_list(line.starts_with('-') ? "ul" : "ol");
    } else if (text_.empty() && !line.starts_with(' ')) {
      end_list();
    }
    line.remove_prefix(marker);
    text_.append(text_.empty() ? "" : "\n")
        .append(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  }

  std::string page() {
    end_list();
    return page_head(title_) + html_ + "</body>\n</html>\n";
  }

 private:
  // Length of "- " or "12. " before an item.
  static std::size_t marker_of(std::string_view line) {
    if (line.starts_with("- ")) return 2;
    const std::size_t digits = line.find_first_not_of("0123456789");
    return digits != npos && digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
  }

  void fence() {
    end_list();
    in_code_ = !in_code_;
    html_ += in_code_ ? "<pre>" : "</pre>\n";
  }

  void heading(std::string_view line) {
    end_list();
    const std::size_t level = line.find_first_not_of('#');
    if (level == npos) return;
    const std::string_view text = line.substr(std::min(level + 1, line.size()));
    if (level == 1) {
      title_ = text;
      return;
    }
    html_ += element(level == 2 ? "h2" : "h3", "", Inline(text, folder_).html()) + "\n";
  }

  void begin_list(std::string_view kind) {
    if (kind == list_) return;
    end_list();
    list_ = kind;
    html_ += joined({"<", kind, ">\n"});
  }

  void end_text() {
    if (!text_.empty())
      html_ += element(list_.empty() ? "p" : "li", "", Inline(text_, folder_).html()) + "\n";
    text_.clear();
  }

  void end_list() {
    end_text();
    if (!list_.empty()) html_ += joined({"</", list_, ">\n"});
    list_ = {};
  }

  std::string_view folder_, list_;
  std::string title_, text_, html_;
  bool in_code_ = false;
};

}  // namespace

std::string render_markdown(std::string_view markdown, std::string_view folder) {
  Blocks blocks(folder);
  while (!markdown.empty()) blocks.add(take_line(markdown));
  return blocks.page();
}

}  // namespace ioc_exporter::web

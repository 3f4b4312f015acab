// Building blocks of the exporter's pages: HTML without scripts and external content.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "web/page.h"

namespace ioc_exporter::web {

// `text` as HTML shows it, between tags or between quotes. Any bytes are safe.
std::string escaped(std::string_view text);

std::string joined(std::initializer_list<std::string_view> parts);

// `content` is HTML; the class may be "".
std::string element(std::string_view tag, std::string_view css_class, std::string_view content);

// The link back to "/".
inline constexpr std::string_view kWayBack = "<p><a href=\"/\">ioc_exporter</a></p>\n";

// Up to <body> and the title as its first heading, both with `origin`: host and start, "" = none.
std::string page_head(std::string_view title, std::string_view origin = {});

// A line of text, as wide as so many characters.
std::string form_field(std::string_view label, std::string_view name, std::string_view value,
                       std::string_view width);

// kWayBack, and a form with these fields that asks `path`.
std::string form_section(std::string_view path, std::string_view fields);

// "" for a table without rows.
std::string table_section(const exposition::StatusTable& table);

}  // namespace ioc_exporter::web

// A page in Markdown, as HTML: headings, paragraphs, lists, code and links, which is what the
// runbooks use.
#pragma once

#include <string>
#include <string_view>

namespace ioc_exporter::web {

// A whole page, whose title is its first heading. A link to a file of the same folder leads to the
// page of that name below `folder`; one to another file is its text alone.
std::string render_markdown(std::string_view markdown, std::string_view folder);

}  // namespace ioc_exporter::web

// Texts as the exposition formats want them: valid UTF-8, and escaped for text 0.0.4.
//
// A record name, a CA client's user or host name are bytes that nobody checked. utf8_safe() writes
// each byte that is no part of a valid UTF-8 sequence (RFC 3629) as \xNN, upper-case hex, and a
// backslash that stands before an 'x' as \x5C: so two names that differ never become the same label
// value.
#pragma once

#include <string>
#include <string_view>

namespace ioc_exporter::exposition {

// `text`, or when it is not valid UTF-8, or ambiguous with what was not, its form with \xNN.
std::string utf8_safe(std::string_view text);

// Appends the value as it stands between the quotes of a label: made safe, then \\ \" and \n
// escaped.
void append_label_value(std::string& out, std::string_view value);

// Appends a HELP text: made safe, then \\ and \n escaped.
void append_help(std::string& out, std::string_view help);

}  // namespace ioc_exporter::exposition

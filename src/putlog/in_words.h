// A put in words, for who reads a log as it is.
#pragma once

#include <string>

#include "putlog/event.h"

namespace ioc_exporter::putlog {

// "SR:I: 1.5 -> 2 by ada@console, ok": printable, on one line, what is long cut.
std::string in_words(const PutEvent& event);

}  // namespace ioc_exporter::putlog

// The script that started an IOC, from its command line; part of how an IOC gets its name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ioc_exporter::iocs {

// The arguments of /proc/PID/cmdline, which ends each in a zero byte.
std::vector<std::string> split_arguments(std::string_view cmdline);

// Absolute path of the script: the first argument behind argv[0] that does not begin with '-' and
// names a regular file (the kernel puts the script of a "#!" line there as well). Where the
// executable is no script interpreter (python, bash, ...) the file must look like a script (.cmd,
// .iocsh, .py, .sh, "st.") or, when no argument does, like a database (.db, .vdb, .template); what
// else is given to an IOC are its own data files.
// `locate` gives the absolute path of the regular file that an argument names, if it names one.
std::optional<std::string> find_start_script(
    const std::vector<std::string>& arguments, std::string_view executable,
    const std::function<std::optional<std::string>(const std::string&)>& locate);

// A name from a script's path: its base name without extension, or, where that says nothing
// (st.cmd, start.sh, main.py), the name of the nearest directory above that does
// (iocBoot/iocPS1/st.cmd -> iocPS1; at most three up). "" when there is none.
std::string name_from_script(std::string_view path);

}  // namespace ioc_exporter::iocs

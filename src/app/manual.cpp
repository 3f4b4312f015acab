#include "app/manual.h"

#include <string_view>

namespace ioc_exporter::app {
namespace {

constexpr std::string_view kBegin = R"(.TH IOC_EXPORTER 8 "" "ioc_exporter" "System Administration"
.SH NAME
ioc_exporter \- Prometheus exporter for EPICS IOC hosts
.SH SYNOPSIS
.B ioc_exporter
.RI [ OPTION ...]
.br
.B ioc_exporter who\-wrote
.RI [ OPTION ...]
.I PV
.SH DESCRIPTION
Shows Prometheus what every record of the EPICS IOCs on this host does, and who writes to it over
Channel Access, without changing, relinking or restarting an IOC.
It attaches probes to the IOCs and a filter to the host's packets, and serves what they counted at
.I /metrics
on port 10064.
.PP
It is started as root, or with the capabilities that
.B \-\-security.capabilities
names, and gives up what it does not need once all is opened.
It stays in the foreground and logs to standard error.
Durations are written 500ms, 5s, 1m30s, 2h.
.SH OPTIONS
)";

constexpr std::string_view kEnd = R"(.SH COMMANDS
.TP
.BI "ioc_exporter who\-wrote " PV
Who wrote to that PV last. It asks the exporter that runs; see
.BR "ioc_exporter who\-wrote \-\-help" .
.TP
.BI "ioc_exporter graph " RECORD
Which records that record processes through its links, and what they cost. It asks the exporter that runs; see
.BR "ioc_exporter graph \-\-help" .
.TP
.BR "ioc_exporter policy test" ", " "ioc_exporter policy learn"
Which rule of a policy decides on a put, and a policy proposed from what was seen; see
.BR "ioc_exporter policy \-\-help" .
.SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
Ends it.
.TP
.B SIGUSR1
Takes off all probes at once, and leaves the memory of all IOCs alone.
.TP
.B SIGUSR2
Attaches them again.
.TP
.B SIGHUP
Reads the files of
.BR \-\-config.file " and " \-\-web.config.file
again. One that is wrong leaves what was in force.
.SH EXIT STATUS
0 when it was told to end, 1 when it could not start or
.B \-\-check
found something missing, 2 when the command line is wrong.
.SH ENVIRONMENT
.TP
.BR NOTIFY_SOCKET ", " WATCHDOG_USEC
Set by systemd for a unit of Type=notify: it is told when the exporter is ready, what it sees, and
that its loop lives.
.SH FILES
.TP
.I /etc/default/ioc_exporter
Options for the systemd unit.
.TP
.I /usr/share/doc/ioc\-exporter/examples/config.example.yml
An example of
.BR \-\-config.file .
.TP
.I /sys/fs/bpf/ioc_exporter
Where the names of open channels outlive a restart of the exporter.
.SH SEE ALSO
.BR promtool (1),
.BR systemctl (1),
.BR capabilities (7)
)";

// Any text as troff shows it; a dot or quote at the start of a line would be a request.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return out;
}

std::string roff(const OptionText& option) {
  std::string text = ".TP\n\\fB\\-\\-";
  text.append(roff(option.name)).append("\\fR");
  if (!option.argument.empty()) text.append("=\\fI").append(roff(option.argument)).append("\\fR");
  text.append("\n").append(roff(option.description)).append(".\n");
  if (!option.default_value.empty())
    text.append("Default: ").append(roff(option.default_value)).append("\n");
  return text;
}

// What an option's argument may be, where that is few things or a file.
std::string choices(const OptionText& option) {
  if (option.name == "log.level")
    return "COMPREPLY=($(compgen -W 'debug info warn error' -- \"$cur\"))";
  if (option.name == "log.format") return "COMPREPLY=($(compgen -W 'logfmt json' -- \"$cur\"))";
  if (option.name == "security.user") return "COMPREPLY=($(compgen -u -- \"$cur\"))";
  if (option.argument == "FILE") return "COMPREPLY=($(compgen -f -- \"$cur\"))";
  if (option.argument == "DIR") return "COMPREPLY=($(compgen -d -- \"$cur\"))";
  return {};
}

constexpr std::string_view kCompletionBegin =
    "# bash completion for ioc_exporter, made from its --help.\n_ioc_exporter() {\n";

// bash takes "--option=value" apart at the equals sign: three words.
constexpr std::string_view kCompletionWord = R"(  local cur=${COMP_WORDS[COMP_CWORD]} option=
  if [[ $cur == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]}
    cur=
  elif [[ $COMP_CWORD -ge 2 && ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $option in
)";

constexpr std::string_view kCompletionEnd = R"(    --*)
      return 0
      ;;
  esac
  local words=$options
  [[ $COMP_CWORD -eq 1 && $cur != -* ]] && words="who-wrote graph policy"
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _ioc_exporter ioc_exporter
)";

}  // namespace

std::string man_page(const std::vector<OptionGroup>& groups) {
  std::string page(kBegin);
  for (const OptionGroup& group : groups) {
    page.append(".SS ").append(roff(group.title)).append("\n");
    for (const OptionText& option : group.options) page += roff(option);
  }
  return page += kEnd;
}

std::string bash_completion(const std::vector<OptionGroup>& groups) {
  std::string names, cases;
  for (const OptionGroup& group : groups) {
    for (const OptionText& option : group.options) {
      if (!names.empty()) names += ' ';
      names.append("--").append(option.name);
      if (!option.argument.empty()) names += '=';
      if (const std::string found = choices(option); !found.empty())
        cases.append("    --")
            .append(option.name)
            .append(")\n      ")
            .append(found)
            .append("\n      return 0\n      ;;\n");
    }
  }
  std::string script(kCompletionBegin);
  script.append("  local options='").append(names).append("'\n").append(kCompletionWord);
  return script.append(cases).append(kCompletionEnd);
}

}  // namespace ioc_exporter::app

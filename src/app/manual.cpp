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
Counts for Prometheus what every record of the EPICS IOCs on this host does, and who writes to it by
Channel Access and PV Access, without changing, relinking or restarting an IOC.
It attaches probes to the IOCs and a filter to the host's packets, and serves their counts at
.I /metrics
on port 10064.
.PP
It is started as root, or with the capabilities that
.B \-\-security.capabilities
names, and gives up all other rights once everything is opened.
It stays in the foreground and logs to standard error.
Durations are written 500ms, 5s, 1m30s, 2h.
.SH OPTIONS
)";

constexpr std::string_view kEnd = R"(.SH COMMANDS
.TP
.BI "ioc_exporter who\-wrote " PV
Last writers of that PV, from the running exporter; see
.BR "ioc_exporter who\-wrote \-\-help" .
.TP
.B "ioc_exporter puts"
Puts, live or of the past, with client, old and new value, from the running exporter; see
.BR "ioc_exporter puts \-\-help" .
.TP
.BI "ioc_exporter trace " RECORD
Live traces of chains with that record: trees with the time of each record, from the running exporter; see
.BR "ioc_exporter trace \-\-help" .
.TP
.B "ioc_exporter status"
IOCs, the busiest records and puts, from the running exporter; see
.BR "ioc_exporter status \-\-help" .
.TP
.BI "ioc_exporter graph " RECORD
Records that this record processes through its links, and their time, from the running exporter; see
.BR "ioc_exporter graph \-\-help" .
.TP
.BI "ioc_exporter links " IOC
Channel Access links of the IOC's records that are not connected, from the running exporter; see
.BR "ioc_exporter links \-\-help" .
.TP
.B "ioc_exporter locks"
Locks of records that threads of IOCs wait for, and who holds them, from the running exporter; see
.BR "ioc_exporter locks \-\-help" .
.TP
.BI "ioc_exporter check \-\-ioc=" NAME
State of an IOC with the exit status and performance data of a Nagios plugin, from the running exporter; see
.BR "ioc_exporter check \-\-help" .
.TP
.BR "ioc_exporter policy test" ", " "ioc_exporter policy learn"
The rule of a policy that decides about a put, and a policy proposed from seen puts; see
.BR "ioc_exporter policy \-\-help" .
.TP
.B "ioc_exporter iocs learn"
A list of expected IOCs, proposed from the running ones; see
.BR "ioc_exporter iocs \-\-help" .
.SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
Ends it.
.TP
.B SIGUSR1
Takes off all probes at once, and stops reading the memory of IOCs.
.TP
.B SIGUSR2
Attaches them again.
.TP
.B SIGHUP
Reads the files of
.BR \-\-config.file " and " \-\-web.config.file
again. A wrong file leaves the old configuration in force.
.SH EXIT STATUS
0 after SIGTERM or SIGINT, 1 when it could not start or
.B \-\-check
found something missing, 2 when the command line is wrong.
.SH ENVIRONMENT
.TP
.BR NOTIFY_SOCKET ", " WATCHDOG_USEC
Set by systemd for a unit of Type=notify: the exporter tells it that it is ready, its state, and
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
.I /var/lib/ioc_exporter
Habits of records and names of open channels, which outlive a restart of the exporter.
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

std::string roff(const std::string& flag, const std::string& argument, const std::string& help) {
  std::string text = ".TP\n\\fB\\-\\-";
  text.append(roff(flag)).append("\\fR");
  if (!argument.empty()) text.append("=\\fI").append(roff(argument)).append("\\fR");
  return text.append("\n").append(roff(help)).append(".\n");
}

std::string roff(const OptionRow& row) {
  std::string text = roff(row.flag, row.argument, row.help_text());
  if (row.takes_argument() && !row.value.default_text.empty())
    text.append("Default: ").append(roff(row.value.default_text)).append("\n");
  if (row.has_no()) text += roff("no-" + row.flag, "", "Turns --" + row.flag + " off");
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all.append(all.empty() ? "" : " ").append(word);
  return all;
}

// How bash completes an option's argument; "" = it does not.
std::string completion_of(const OptionRow& row) {
  std::string what;
  if (!row.value.choices.empty()) what = "-W '" + joined(row.value.choices) + "'";
  if (row.argument == "USER") what = "-u";
  if (row.argument == "FILE") what = "-f";
  if (row.argument == "DIR") what = "-d";
  return what.empty() ? "" : "COMPREPLY=($(compgen " + what + " -- \"$cur\"))";
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
  [[ $COMP_CWORD -eq 1 && $cur != -* ]] && words="who-wrote puts trace status graph links locks check policy iocs"
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _ioc_exporter ioc_exporter
)";

}  // namespace

std::string man_page(const OptionTable& table) {
  std::string page(kBegin);
  for (const OptionGroup& group : table.groups()) {
    page.append(".SS ").append(roff(group.title)).append("\n");
    for (const OptionRow& row : group.rows)
      if (!row.flag.empty()) page += roff(row);
  }
  return page += kEnd;
}

std::string bash_completion(const OptionTable& table) {
  std::vector<std::string> flags;
  std::string cases;
  for (const OptionGroup& group : table.groups())
    for (const OptionRow& row : group.rows) {
      if (row.flag.empty()) continue;
      flags.push_back("--" + row.flag + (row.takes_argument() ? "=" : ""));
      if (row.has_no()) flags.push_back("--no-" + row.flag);
      if (const std::string found = completion_of(row); !found.empty())
        cases.append("    --" + row.flag + ")\n      " + found + "\n      return 0\n      ;;\n");
    }
  std::string script(kCompletionBegin);
  script.append("  local options='").append(joined(flags)).append("'\n").append(kCompletionWord);
  return script.append(cases).append(kCompletionEnd);
}

std::string option_reference(const OptionTable& table) {
  std::string text;
  for (const OptionGroup& group : table.groups()) {
    text.append(text.empty() ? "" : "\n").append("### " + group.title + "\n\n");
    text += "| option | default | what |\n|---|---|---|\n";
    for (const OptionRow& row : group.rows) {
      const std::string argument = row.argument.empty() ? "" : "=" + row.argument;
      const std::string flag = row.flag.empty() ? "" : "`--" + row.flag + argument + "`";
      const std::string key = row.key.empty() ? "" : "`" + row.key + "`";
      const std::string& value = row.value.default_text;
      text.append("| " + flag + (flag.empty() || key.empty() ? "" : " ") + key + " | ")
          .append(value.empty() ? "" : "`" + value + "`")
          .append(" | " + row.help_text() + " |\n");
    }
  }
  return text;
}

}  // namespace ioc_exporter::app

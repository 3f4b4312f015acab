#include "app/options.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include <cxxopts.hpp>

#include "app/manual.h"
#include "app/version.h"
#include "ca/tap_object.h"
#include "web/listen_address.h"
#include "base/duration.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kDefaultPin = "/sys/fs/bpf/ioc_exporter";
constexpr std::array kLogLevels = {"debug", "info", "warn", "error"};

const std::vector<std::string> kGroups = {
    "Web",    "Configuration",  "IOCs",     "Collectors", "Records",
    "Series", "Channel Access", "Security", "Modes",      "Other"};

// cxxopts 3.1 has a list of names, earlier ones have one.
[[maybe_unused]] std::string long_name(const std::string& name) {
  return name;
}
[[maybe_unused]] std::string long_name(const std::vector<std::string>& names) {
  return names.empty() ? "" : names.front();
}

cxxopts::Options describe() {
  cxxopts::Options options(
      "ioc_exporter",
      "Prometheus exporter for EPICS IOC hosts: what every record does and who writes to it.\n"
      "IOCs are neither changed nor restarted. Durations: 500ms, 5s, 1m30s, 2h.\n"
      "Who wrote to a PV last: ioc_exporter who-wrote PV (see who-wrote --help).\n"
      "What a record processes through its links: ioc_exporter graph RECORD (see graph --help).\n"
      "Which puts the site expects: ioc_exporter policy test|learn (see policy --help).");
  const ca::CaTapSizes sizes;
  options.set_width(100);
  options.add_options("Web")(
      "web.listen-address", "Address to listen on (repeatable); port 0 picks a free one",
      cxxopts::value<std::vector<std::string>>()->default_value(":10064"),
      "ADDRESS")("web.telemetry-path", "Path of the metrics",
                 cxxopts::value<std::string>()->default_value("/metrics"), "PATH")(
      "web.max-requests", "Requests that are answered at a time; more get status 503",
      cxxopts::value<std::size_t>()->default_value("8"),
      "N")("web.config.file",
           "Passwords, headers and a rate limit, in the format of Prometheus' exporter-toolkit; "
           "without TLS (docs/configuration.md)",
           cxxopts::value<std::string>()->default_value(""),
           "FILE")("web.enable-lifecycle", "Answer POST /-/detach, /-/attach and /-/reload");
  options.add_options("Configuration")(
      "config.file", "The site's YAML file (docs/configuration.md); flags stand above it",
      cxxopts::value<std::string>()->default_value(""), "FILE")(
      "config.check", "Check the file, say what is wrong with it and exit (1 when anything is)");
  options.add_options("IOCs")("ioc.include",
                              "Only IOCs whose whole name this expression (RE2) matches",
                              cxxopts::value<std::string>()->default_value(""), "RE")(
      "ioc.exclude", "No IOCs whose whole name this expression (RE2) matches",
      cxxopts::value<std::string>()->default_value(""), "RE")(
      "ioc.name-source",
      "Where an IOC's name comes from, the first that says something: env:VARIABLE, script, exe",
      cxxopts::value<std::vector<std::string>>()->default_value(
          "env:IOCNAME,env:IOC_NAME,env:IOC,script,exe"),
      "LIST")("ioc.keep-gone", "How long an IOC that is gone stays on /metrics as epics_ioc_up 0",
              cxxopts::value<std::string>()->default_value("5m"),
              "DURATION")("discovery.interval", "How often to look for IOCs",
                          cxxopts::value<std::string>()->default_value("1s"), "DURATION");
  options.add_options("Collectors")("collector.records",
                                    "Count and time what records do; off: --no-collector.records")(
      "no-collector.records", "")(
      "collector.puts", "Count Channel Access puts; off: --no-collector.puts")("no-collector.puts",
                                                                               "");
  options.add_options("Records")(
      "records.max-threads",
      "Threads that may process records at a time, over all IOCs (3 KiB each)",
      cxxopts::value<std::uint32_t>()->default_value("4096"), "N")(
      "records.timed-rate",
      "Processings of one record a second that are timed; of a busier one, one in n is timed and "
      "counts n times (all are counted; needs Linux 6.13); 0: time all",
      cxxopts::value<std::uint32_t>()->default_value("100"),
      "N")("records.causes", "Count each record's processings by their cause, too")(
      "records.links", "Links from record to record that are counted; 0: none",
      cxxopts::value<std::uint32_t>()->default_value("0"),
      "N")("records.puts", "Count the writes inside IOCs by their source; off: --no-records.puts")(
      "no-records.puts", "")("records.put-clients",
                             "Count the writes by Channel Access with their client, too")(
      "records.stuck-after", "A record that is active (PACT) for longer is called stuck",
      cxxopts::value<std::string>()->default_value("30s"), "DURATION")(
      "overhead.budget",
      "Percent of one core that the probes may cost each IOC; above it, the IOC is looked at in "
      "slices of time and its counts are estimates; 0: no bound",
      cxxopts::value<double>()->default_value("5"), "PERCENT");
  options.add_options("Series")("records.include",
                                "Only records whose whole name this expression (RE2) matches",
                                cxxopts::value<std::string>(), "RE")(
      "records.exclude", "No records whose whole name this expression (RE2) matches",
      cxxopts::value<std::string>(),
      "RE")("pvs.include", "Only puts to PVs whose whole name this expression (RE2) matches",
            cxxopts::value<std::string>(),
            "RE")("pvs.exclude", "No puts to PVs whose whole name this expression (RE2) matches",
                  cxxopts::value<std::string>(), "RE")(
      "pvs.expire", "How long a client's puts to a PV are shown after the last one and its channel",
      cxxopts::value<std::string>(),
      "DURATION")("limit",
                  "Series of their own that things of a kind may have, such as puts=5000 or "
                  "puts.per_client=500 (repeatable); what is above is summed up",
                  cxxopts::value<std::vector<std::string>>(), "KIND=N");
  options.add_options("Channel Access")(
      "ca.server-port",
      "TCP ports of CA servers, whatever listens there; others are found by what they speak",
      cxxopts::value<std::vector<std::uint16_t>>(), "LIST")(
      "ca.remote-servers", "Count also what clients on this host send to CA servers elsewhere")(
      "ca.max-channels", "Channels of all clients together (about 800 bytes each)",
      cxxopts::value<std::uint32_t>()->default_value(std::to_string(sizes.max_channels)),
      "N")("ca.max-circuits", "TCP connections of clients (about 1 KiB each)",
           cxxopts::value<std::uint32_t>()->default_value(std::to_string(sizes.max_circuits)), "N")(
      "state.pin",
      "Folder in a bpffs where the names of open channels outlive the exporter; none: nowhere",
      cxxopts::value<std::string>()->default_value(kDefaultPin), "DIR");
  options.add_options("Security")(
      "security.user",
      "Whom to become once all is opened, when started as root; root: stay it. Where nothing is "
      "said: ioc_exporter if there is such a user, else nobody",
      cxxopts::value<std::string>()->default_value(""), "USER")(
      "security.capabilities", "Capabilities to keep, or none, or all: see docs/security.md",
      cxxopts::value<std::vector<std::string>>()->default_value(kDefaultCapabilities),
      "LIST")("security.sandbox",
              "Refuse itself the system calls that it does not need; off: --no-security.sandbox")(
      "no-security.sandbox", "");
  options.add_options("Modes")("once", "Count for so long, print one scrape and exit",
                               cxxopts::value<std::string>(), "DURATION")(
      "check",
      "Load and attach everything, print what works and exit (1 when something is missing)")(
      "strict", "A probe that cannot be loaded is fatal");
  options.add_options("Other")("log.level", "debug, info, warn or error",
                               cxxopts::value<std::string>()->default_value("info"), "LEVEL")(
      "log.format", "logfmt or json", cxxopts::value<std::string>()->default_value("logfmt"),
      "FORMAT")("version", "Print the version and exit")("h,help", "Print this and exit")(
      "help-man", "Print the manual page and exit")("completion-script-bash",
                                                    "Print the completion for bash and exit");
  return options;
}

Error wrong(const std::string& option, const std::string& what) {
  return error_in_words("--" + option + ": " + what);
}

// The help without the line of each --no- option: the positive one says it.
std::string help_text(const cxxopts::Options& options) {
  const std::string all = options.help(kGroups);
  std::string text;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = all.find('\n', at);
    end = end == std::string::npos ? all.size() : end + 1;
    const std::string_view line(all.data() + at, end - at);
    if (!line.starts_with("      --no-")) text += line;
    at = end;
  }
  return text;
}

// The same for the manual and the completion.
std::vector<OptionGroup> option_texts(const cxxopts::Options& options) {
  std::vector<OptionGroup> groups;
  for (const std::string& title : kGroups) {
    OptionGroup group{title, {}};
    for (const cxxopts::HelpOptionDetails& option : options.group_help(title).options) {
      const std::string name = long_name(option.l);
      const bool is_no = name.starts_with("no-");
      group.options.push_back({name, option.is_boolean ? "" : option.arg_help,
                               is_no ? "Turns --" + name.substr(3) + " off" : option.desc,
                               option.is_boolean ? "" : option.default_value});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<void> read_durations(const cxxopts::ParseResult& parsed, Options& options) {
  const auto read = [&parsed](const char* option, std::chrono::milliseconds& into) -> Result<void> {
    auto duration = parse_duration(parsed[option].as<std::string>());
    if (!duration) return wrong(option, duration.error().message());
    into = *duration;
    return {};
  };
  if (auto ok = read("ioc.keep-gone", options.iocs.keep_gone); !ok) return ok;
  if (auto ok = read("discovery.interval", options.iocs.interval); !ok) return ok;
  if (auto ok = read("records.stuck-after", options.records.stuck_after); !ok) return ok;
  if (options.iocs.interval < std::chrono::milliseconds(100))
    return wrong("discovery.interval", "must be at least 100ms");
  if (parsed.count("once") > 0) {
    options.once.emplace();
    if (auto ok = read("once", *options.once); !ok) return ok;
  }
  if (parsed.count("pvs.expire") > 0) {
    options.put_expiry.emplace();
    if (auto ok = read("pvs.expire", *options.put_expiry); !ok) return ok;
    if (*options.put_expiry < std::chrono::minutes(1))
      return wrong("pvs.expire", "must be at least 1m");
  }
  return {};
}

Result<void> read_web(const cxxopts::ParseResult& parsed, Options& options) {
  options.web.listen = parsed["web.listen-address"].as<std::vector<std::string>>();
  for (const std::string& address : options.web.listen)
    if (auto ok = web::ListenAddress::parse(address); !ok)
      return wrong("web.listen-address", ok.error().message());
  options.web.lifecycle = parsed.count("web.enable-lifecycle") > 0;
  options.web.telemetry_path = parsed["web.telemetry-path"].as<std::string>();
  options.web.max_requests = parsed["web.max-requests"].as<std::size_t>();
  const std::string& path = options.web.telemetry_path;
  if (path.size() < 2 || path[0] != '/' || path.starts_with("/-/"))
    return wrong("web.telemetry-path", "\"" + path + "\" is no path of its own, such as /metrics");
  if (options.web.max_requests == 0 || options.web.max_requests > 1000)
    return wrong("web.max-requests", "must be 1 to 1000");
  return {};
}

Result<void> read_iocs(const cxxopts::ParseResult& parsed, Options& options) {
  auto filter = iocs::IocFilter::create(parsed["ioc.include"].as<std::string>(),
                                             parsed["ioc.exclude"].as<std::string>());
  if (!filter) return filter.error();
  options.iocs.filter = *filter;
  const auto words = parsed["ioc.name-source"].as<std::vector<std::string>>();
  auto sources = iocs::parse_name_sources(words);
  if (!sources) return wrong("ioc.name-source", sources.error().message());
  options.iocs.name_sources = *sources;
  options.filter_given = parsed.count("ioc.include") > 0 || parsed.count("ioc.exclude") > 0;
  options.name_sources_given = parsed.count("ioc.name-source") > 0;
  return {};
}

Result<void> read_series(const cxxopts::ParseResult& parsed, Options& options) {
  const auto pattern = [&parsed](const char* option, std::optional<Pattern>& into) -> Result<void> {
    if (parsed.count(option) == 0) return {};
    auto compiled = Pattern::compile(parsed[option].as<std::string>());
    if (!compiled) return wrong(option, compiled.error().message());
    into = *compiled;
    return {};
  };
  if (auto ok = pattern("records.include", options.records_shown.include); !ok) return ok;
  if (auto ok = pattern("records.exclude", options.records_shown.exclude); !ok) return ok;
  if (auto ok = pattern("pvs.include", options.pvs_shown.include); !ok) return ok;
  if (auto ok = pattern("pvs.exclude", options.pvs_shown.exclude); !ok) return ok;
  if (parsed.count("limit") > 0)
    for (const std::string& limit : parsed["limit"].as<std::vector<std::string>>())
      if (auto ok = set_limit(limit, options.limits); !ok)
        return wrong("limit", ok.error().message());
  return {};
}

Result<void> read_records(const cxxopts::ParseResult& parsed, Options& options) {
  const auto number = [&parsed](const char* option, std::uint32_t least, std::uint32_t most,
                                std::uint32_t& into) -> Result<void> {
    into = parsed[option].as<std::uint32_t>();
    if (into >= least && into <= most) return {};
    return wrong(option, "must be " + std::to_string(least) + " to " + std::to_string(most));
  };
  if (auto ok = number("records.max-threads", 16, 1'000'000, options.records.max_threads); !ok)
    return ok;
  if (auto ok = number("records.timed-rate", 0, 1'000'000, options.records.timed_rate); !ok)
    return ok;
  if (auto ok = number("records.links", 0, 1'000'000, options.records.links); !ok) return ok;
  options.records.causes = parsed.count("records.causes") > 0;
  options.records.puts = parsed.count("no-records.puts") == 0;
  options.records.put_clients = parsed.count("records.put-clients") > 0;
  options.records.overhead_budget = parsed["overhead.budget"].as<double>();
  if (!(options.records.overhead_budget >= 0 && options.records.overhead_budget <= 1000))
    return wrong("overhead.budget", "must be 0 to 1000");
  return {};
}

Result<void> read_channel_access(const cxxopts::ParseResult& parsed, Options& options) {
  if (parsed.count("ca.server-port") > 0)
    options.ca.server_ports = parsed["ca.server-port"].as<std::vector<std::uint16_t>>();
  if (std::ranges::find(options.ca.server_ports, 0) != options.ca.server_ports.end())
    return wrong("ca.server-port", "must be 1 to 65535");
  options.ca.remote_servers = parsed.count("ca.remote-servers") > 0;
  const auto room = [&parsed](const char* option, std::uint32_t& into) -> Result<void> {
    into = parsed[option].as<std::uint32_t>();
    if (into < 1024 || into > 4'194'304) return wrong(option, "must be 1024 to 4194304");
    return {};
  };
  if (auto ok = room("ca.max-channels", options.ca.max_channels); !ok) return ok;
  if (auto ok = room("ca.max-circuits", options.ca.max_circuits); !ok) return ok;
  const auto pin = parsed["state.pin"].as<std::string>();
  if (pin == "none") return {};
  if (!pin.starts_with('/'))
    return wrong("state.pin", "\"" + pin + "\" is neither an absolute path nor none");
  options.ca.pin_directory = pin;
  options.ca.pin_is_default = parsed.count("state.pin") == 0;
  return {};
}

Result<void> read_security(const cxxopts::ParseResult& parsed, Options& options) {
  options.privileges.user = parsed["security.user"].as<std::string>();
  const auto words = parsed["security.capabilities"].as<std::vector<std::string>>();
  options.privileges.keep_all = words == std::vector<std::string>{"all"};
  options.sandbox = parsed.count("no-security.sandbox") == 0;
  if (options.privileges.keep_all) return {};
  auto capabilities = parse_capabilities(words);
  if (!capabilities) return wrong("security.capabilities", capabilities.error().message());
  options.privileges.capabilities = std::move(*capabilities);
  return {};
}

Result<void> read_rest(const cxxopts::ParseResult& parsed, Options& options) {
  options.records.enabled = parsed.count("no-collector.records") == 0;
  options.ca.enabled = parsed.count("no-collector.puts") == 0;
  options.web.config_file = parsed["web.config.file"].as<std::string>();
  options.config_file = parsed["config.file"].as<std::string>();
  options.config_check = parsed.count("config.check") > 0;
  if (options.config_check && options.config_file.empty() && options.web.config_file.empty())
    return wrong("config.check", "which file? give --config.file or --web.config.file, too");
  options.check = parsed.count("check") > 0;
  options.strict = parsed.count("strict") > 0;
  options.log_level = parsed["log.level"].as<std::string>();
  if (std::find(kLogLevels.begin(), kLogLevels.end(), options.log_level) == kLogLevels.end())
    return wrong("log.level", "\"" + options.log_level + "\" is none of debug, info, warn, error");
  const auto format = parsed["log.format"].as<std::string>();
  if (format != "logfmt" && format != "json")
    return wrong("log.format", "\"" + format + "\" is neither logfmt nor json");
  options.log_format = format == "json" ? LogFormat::json : LogFormat::logfmt;
  if (!options.records.enabled && !options.ca.enabled)
    return error_in_words("all collectors are turned off");
  return {};
}

}  // namespace

Result<std::variant<Options, PrintAndExit>> parse_options(int argc, const char* const* argv) {
  using Answer = std::variant<Options, PrintAndExit>;
  try {
    Answer answer(std::in_place_type<Options>);
    cxxopts::Options description = describe();
    const auto parsed = description.parse(argc, argv);
    if (parsed.count("help") > 0) answer = PrintAndExit{help_text(description)};
    if (parsed.count("help-man") > 0) answer = PrintAndExit{man_page(option_texts(description))};
    if (parsed.count("completion-script-bash") > 0)
      answer = PrintAndExit{bash_completion(option_texts(description))};
    if (parsed.count("version") > 0) answer = PrintAndExit{version_text()};
    if (std::holds_alternative<PrintAndExit>(answer)) return answer;
    if (!parsed.unmatched().empty())
      return error_in_words("unexpected argument \"" + parsed.unmatched().front() + "\"");
    Options& options = std::get<Options>(answer);
    for (const auto& read : {read_web, read_iocs, read_series, read_records, read_durations,
                             read_channel_access, read_security, read_rest})
      if (auto ok = read(parsed, options); !ok) return ok.error();
    return answer;
  } catch (const std::exception& problem) {  // cxxopts' way to tell; its texts name the option
    return error_in_words(problem.what());
  }
}

}  // namespace ioc_exporter::app

#!/usr/bin/env bash
# Installs the packages that are missing, and says which. Not as root, it uses sudo or doas, and only when something is
# missing. It may be run again at any time.
#
#   scripts/install-deps.sh GROUP...     GROUP: build, release, demo, bench, test, or of that unit alone; what single tests
#                                        need besides: browser, compilers, package, programs, vm; or cross: what
#                                        builds for arm64 here, and vm-arm64: what emulates a host of it
#   scripts/install-deps.sh --names GROUP...             only says which packages they are (apt)
#
# Debian and Ubuntu (apt) have all of them. Fedora and the RHEL family (dnf) lack some: those are named,
# with where they can come from.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

apt_packages() {
  local label
  case $1 in
    build) echo "cmake ninja-build python3 g++ clang llvm pkg-config libbpf-dev libelf-dev zlib1g-dev" \
      "libdeflate-dev libzstd-dev libprotozero-dev prometheus-cpp-dev libcivetweb-dev libcxxopts-dev libre2-dev" \
      "libabsl-dev libspdlog-dev libgtest-dev libgmock-dev nlohmann-json3-dev libyaml-cpp-dev libcrypt-dev" \
      "libcap-dev libseccomp-dev libssl-dev libcurl4-openssl-dev libzydis-dev $(apt_bpftool)" ;;
    # Built from source packages besides: civetweb with TLS, and the static binary.
    release) echo "patch xz-utils git dpkg-dev rpm" ;;
    # For arm64, and what runs it here; the libraries come from scripts/make-cross-root.sh.
    cross) echo "g++-aarch64-linux-gnu qemu-user-static" ;;
    unit) echo "openssl python3 libprotobuf-dev protobuf-compiler golang-github-prometheus-client-model-dev binutils" ;;
    test) apt_packages unit && echo "python3-venv ca-certificates iproute2 prometheus prometheus-alertmanager zstd" \
      "clang-format $(apt_fuzzer)" ;;
    browser) echo "prometheus $(apt_browser)" ;;
    compilers) apt_compilers ;;
    package) echo "dpkg-dev rpm groff-base binutils iproute2 git gnupg mmdebstrap debian-archive-keyring" ;;
    programs) echo "runc rsyslog rsyslog-elasticsearch procserv stunnel4" ;;
    vm) echo "busybox-static $(apt_qemu)" ;;
    vm-arm64) echo "qemu-system-arm" ;;
    demo) echo "python3 python3-venv ca-certificates prometheus prometheus-alertmanager curl" ;;
    bench) echo "bpftrace binutils iproute2 tcpdump procserv" ;;
    *) die "unknown group $1 (known: see the head of this script)" ;;
  esac
}

# bpftool is a package of its own in Debian; Ubuntu before 24.10 has it in linux-tools-common.
apt_bpftool() {
  if dpkg_has bpftool || apt_knows bpftool Filename; then
    echo bpftool
  else
    echo "linux-tools-common linux-tools-generic"
  fi
}

# The tests in virtual machines boot Debian's kernels, on x86_64 only, and this host's systemd.
apt_qemu() {
  [ "$(uname -m)" != x86_64 ] || echo "qemu-system-x86 debian-archive-keyring systemd mmdebstrap"
}

# For the dashboards; Ubuntu has Chromium as a snap alone. Node's own packages bring npm.
apt_browser() {
  dpkg_has chromium || apt_knows chromium Filename || return 0
  echo chromium
  command -v npm >/dev/null || echo "nodejs npm"
}

# The compiler-rt of the distribution's own clang, which libFuzzer and AddressSanitizer are part of.
apt_fuzzer() {
  apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p'
}

# Compilers besides the distribution's own, whose code the tests look into.
apt_compilers() {
  local package
  [ "$(uname -m)" = x86_64 ] || return 0
  for package in gcc-11 gcc-12-aarch64-linux-gnu; do
    if dpkg_has "$package" || apt_knows "$package" Filename; then echo "$package"; fi
  done
}

dnf_packages() {
  case $1 in
    build) echo "cmake ninja-build python3 gcc-c++ clang llvm bpftool pkgconf-pkg-config libbpf-devel" \
      "elfutils-libelf-devel zlib-devel libdeflate-devel libzstd-devel protozero-devel cxxopts-devel re2-devel" \
      "abseil-cpp-devel yaml-cpp-devel libxcrypt-devel spdlog-devel gtest-devel gmock-devel json-devel" \
      "libcap-devel libseccomp-devel openssl-devel libcurl-devel zydis-devel" ;;
    release) echo "patch xz git" ;;
    test | unit) echo "python3 ca-certificates iproute" ;;
    demo) echo "python3 ca-certificates curl" ;;
    bench) echo "bpftrace binutils iproute tcpdump" ;;
    *) die "unknown group $1 (known: build, test, demo, bench)" ;;
  esac
}

# apt_knows PACKAGE FIELD: also of one that is only installed, and has no Filename then.
apt_knows() {
  local known
  known=$(apt-cache show "$1" 2>/dev/null) || return 1
  grep -q "^$2:" <<<"$known"
}

dpkg_has() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Debian's prometheus and prometheus-alertmanager start a service on port 9090 and 9093. When it is we who
# install one, its service is neither started now nor enabled for the next boot; one that was installed before
# is left as it is.
#
#   without_services "SERVICE..." COMMAND...
without_services() {
  local services=()
  read -ra services <<<"$1"
  shift
  if [ ${#services[@]} -eq 0 ] || ! command -v systemctl >/dev/null; then
    "$@"
    return
  fi
  # shellcheck disable=SC2064  # the names of now
  trap "as_root systemctl unmask --quiet ${services[*]}" EXIT
  as_root systemctl mask --quiet "${services[@]}"
  "$@"
  as_root systemctl unmask --quiet "${services[@]}"
  trap - EXIT
  as_root systemctl disable --quiet "${services[@]}"
  say "left off: ${services[*]} (systemctl enable --now starts them)"
}

as_root() { # COMMAND...
  local tool
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    tool=$(root_tool "installing packages") || exit 1
    "$tool" "$@"
  fi
}

# apt WHAT OPTION...: apt-get, with its progress instead of its output. It waits while another program installs packages.
apt() {
  local what=$1 log
  shift
  as_root true # a password is asked for before the line of the progress is there
  log=$(mktemp -t ioc_exporter-apt.XXXXXX)
  with_progress "$what" "$log" logged "$log" as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -q -o DPkg::Lock::Timeout=300 "$@" || {
    tail -n 30 "$log" >&2
    die "$what failed; all that apt-get said is in $log"
  }
  rm -f "$log"
}
logged() { "${@:2}" </dev/null >>"$1" 2>&1; }
lists_are_new=
apt_update() {
  [ -z "$lists_are_new" ] || return 0
  apt "fetching the lists of packages" update
  lists_are_new=yes
}

apt_install() {
  say "installing: $*"
  apt_update
  apt "installing packages" install -y --no-install-recommends "$@"
}

with_apt() {
  local group package missing=() services=()
  # On a machine whose package lists were never fetched, what is asked of them below has no answer.
  dpkg_has clang || apt_knows clang Package || apt_update
  for group in "$@"; do
    for package in $(apt_packages "$group"); do
      [[ " ${missing[*]-} " == *" $package "* ]] || dpkg_has "$package" || missing+=("$package")
    done
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages for $*: nothing is missing"
  else
    for package in prometheus prometheus-alertmanager; do
      [[ " ${missing[*]-} " != *" $package "* ]] || services+=("$package.service")
    done
    without_services "${services[*]}" apt_install "${missing[@]}"
  fi
}

with_dnf() {
  local group package missing=()
  for group in "$@"; do
    for package in $(dnf_packages "$group"); do
      rpm -q --quiet --whatprovides "$package" || missing+=("$package")
    done
  done
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing: ${missing[*]}"
    as_root dnf install -y "${missing[@]}" ||
      say "on RHEL and its kin some of these need EPEL and CRB: dnf install epel-release;" \
        "dnf config-manager --set-enabled crb"
  fi
  if [[ " $* " == *" build "* ]]; then
    say "not packaged there: civetweb and prometheus-cpp 1.x with their CMake files." \
      "Build both from source with -DCMAKE_INSTALL_PREFIX=/usr/local before this project."
  fi
  command -v prometheus >/dev/null ||
    say "prometheus (with promtool) and alertmanager (with amtool) are not packaged there: put them into PATH," \
      "or go without them"
}

[ $# -gt 0 ] || die "usage: scripts/install-deps.sh build|test|demo..."
if [ "$1" = --names ]; then
  shift
  for group in "$@"; do apt_packages "$group"; done
  exit
fi
if command -v apt-get >/dev/null; then
  with_apt "$@"
elif command -v dnf >/dev/null; then
  with_dnf "$@"
else
  die "knows apt and dnf only; the packages to install: $(for g in "$@"; do apt_packages "$g"; done)"
fi

# Packages of other suites of Debian, and of other processors, from this host's own mirror; to be sourced after lib.sh,
# with $directory set, or begin_debian asked to.
#
# apt checks the signatures with lists of its own, in $directory/apt: the host's package sources are neither changed nor
# asked for more than where its mirror is. Nothing is installed.
# shellcheck shell=bash
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
arch=$(dpkg --print-architecture 2>/dev/null || true) # this host's, unless begin_debian is told another

# Nothing where this host's package sources are not Debian's.
mirror() {
  # shellcheck disable=SC2016 # apt fills these in
  apt-get indextargets --format '$(ORIGIN)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -F'|' '!found && $1 == "Debian" && $2 == "main" && $3 !~ /security/ { print $3; found = 1 }'
}

# apt_of SUITE ARGUMENT...: apt-get with that suite as its only source, for the processor $arch.
apt_of() {
  local suite=$1 state=$directory/apt/$1
  shift
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/preferences.d"
  echo "deb [signed-by=$keyring] $uri $suite main" >"$state/sources.list"
  apt-get -q -q -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$state/preferences.d" \
    -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null \
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o APT::Architecture="$arch" -o APT::Architectures::="$arch" "$@"
}

# begin_debian WHAT DIRECTORY [ARCH]: sets $directory, which it makes, $uri and $arch. Where this host's package sources
# are not Debian's it ends the script, and says that there is no WHAT.
begin_debian() {
  arch=${3:-$arch}
  mkdir -p "$2"
  directory=$(cd "$2" && pwd)
  uri=
  if command -v apt-get >/dev/null; then uri=$(mirror); fi
  if [ -z "$uri" ]; then
    say "no $1: this host's package sources are not Debian's"
    exit 0
  fi
  [ -r "$keyring" ] || die "there is no $keyring: install debian-archive-keyring"
}

update() { # SUITE
  apt_of "$1" update || die "fetch the package list of $1 from this host's mirror: see above"
}

# download SUITE PACKAGE...: into $work, a new folder, for drop_work.
download() {
  local suite=$1
  shift
  work=$(mktemp -d "$directory/fetch.XXXXXX")
  (cd "$work" && apt_of "$suite" download "$@") || die "download $* of $suite: see above"
}

# drop_work SUITE: that, and the suite's lists.
drop_work() { rm -rf "$work" "$directory/apt/$1"; }

end_debian() { rm -rf "$directory/apt"; }

# Packages of other suites of Debian, from this host's own mirror; to be sourced after lib.sh, with $directory set.
#
# apt checks the signatures with lists of its own, in $directory/apt: the host's package sources are neither changed nor
# asked for more than where its mirror is. Nothing is installed.
# shellcheck shell=bash
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Nothing where this host's package sources are not Debian's.
mirror() {
  # shellcheck disable=SC2016 # apt fills these in
  apt-get indextargets --format '$(ORIGIN)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -F'|' '$1 == "Debian" && $2 == "main" && $3 !~ /security/ { print $3; exit }'
}

# apt_of SUITE ARGUMENT...: apt-get with that suite as its only source.
apt_of() {
  local suite=$1 state=$directory/apt/$1
  shift
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/preferences.d"
  echo "deb [signed-by=$keyring] $uri $suite main" >"$state/sources.list"
  apt-get -q -q -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$state/preferences.d" \
    -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null \
    -o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

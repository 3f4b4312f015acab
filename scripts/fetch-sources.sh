#!/usr/bin/env bash
# Fetches the source packages that third_party/sources.txt names, from the archive that this host installs packages
# from, and checks each against its hash.
#
#   scripts/fetch-sources.sh DIRECTORY      what is there already is left as it is
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/fetch-sources.sh DIRECTORY"
mkdir -p "$1"
directory=$(cd "$1" && pwd)

is_there() { # HASH FILE
  [ -f "$2" ] && printf '%s  %s\n' "$1" "$2" | sha256sum --check --status
}

# apt's own program for it, which deletes what has another hash.
download() { # HASH PATH FILE
  local archive helper=/usr/lib/apt/apt-helper
  [ -x "$helper" ] || die "fetching $2 needs apt: put the file into $directory by hand"
  for archive in $(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u); do
    ! "$helper" -q -o APT::Sandbox::User=root download-file "${archive%/}/${2//+/%2b}" "$3.part" "SHA256:$1" \
      >>"$directory/log" 2>&1 || return 0
  done
  return 1
}

while read -r hash path; do
  file=$directory/${path##*/}
  is_there "$hash" "$file" && continue
  rm -f "$file" "$file.part"
  download "$hash" "$path" "$file" ||
    die "no archive of this host has $path with the hash of third_party/sources.txt (see $directory/log);" \
      "where Debian has a newer revision, look at what it changes and write its hash there"
  is_there "$hash" "$file.part" || die "$path has another hash than third_party/sources.txt says"
  mv "$file.part" "$file"
done < <(grep -v '^#' "$here/../third_party/sources.txt")

#!/usr/bin/env bash
# Makes what the end-to-end tests run, once:
#
#   scripts/make-test-env.sh DIRECTORY
#
#   DIRECTORY/venv                         the tests' Python packages, with the newest EPICS Base
#   DIRECTORY/base/VERSION/epicscorelibs   lib/, include/ and dbd/ of each Base in tests/e2e/bases.txt
#   DIRECTORY/java/jca.jar, zipkin.jar     the Java client CAJ and Zipkin, where there is a JDK and Maven
#
# An older Base is the content of its wheel for another Python version: nothing of that Python is needed.
# A Base that has no wheel for this machine's architecture is left out, and its tests skip.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/make-test-env.sh DIRECTORY"
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
venv=$directory/venv
python=$venv/bin/python
machine=$(uname -m)

"$project/scripts/make-venv.sh" "$venv" "$project/tests/e2e/requirements.txt"

link_installed_base() {
  local package
  package=$("$python" -c 'import importlib.util as u; print(u.find_spec("epicscorelibs").submodule_search_locations[0])')
  mkdir -p "$directory/base/$1"
  ln -sfn "$package" "$directory/base/$1/epicscorelibs"
}

unpack_base() {
  local name=$1 version=$2 tag=$3 target=$directory/base/$1 wheels=$directory/wheels
  [ "$(cat "$target/made-for" 2>/dev/null)" != "$version" ] || return 0
  say "EPICS Base $name (wheel $version)"
  rm -rf "$target"
  mkdir -p "$wheels"
  if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --implementation cp --python-version "${tag#cp}" --abi "$tag" \
    --platform "manylinux1_$machine" --platform "manylinux2014_$machine" \
    --dest "$wheels" "epicscorelibs==$version" 2>"$wheels/pip.log"; then
    cat "$wheels/pip.log" >&2
    # These versions are known to have wheels for x86_64; elsewhere one may not exist.
    [ "$machine" != x86_64 ] || die "could not download epicscorelibs $version"
    say "no wheel of EPICS Base $name for $machine: its tests will be skipped"
    return 0
  fi
  mkdir -p "$target"
  "$python" -m zipfile -e "$wheels/epicscorelibs-$version-$tag-"*.whl "$target"
  printf '%s\n' "$version" >"$target/made-for"
}

while read -r name version tag; do
  case $name in "" | "#"*) continue ;; esac
  if [ "$tag" = - ]; then
    link_installed_base "$name"
  else
    unpack_base "$name" "$version" "$tag"
  fi
done <"$project/tests/e2e/bases.txt"

# One version of each, which is that of the file's sum (the client has none: it is small, and old).
readonly caj=2.4.9 zipkin=3.5.1 zipkin_sum=7956e7f2c64b7073e1362b81e697fceb5fe61e121ad3cb48d545461026964b0f

# Their tests skip, and say so, where a JDK (17 or later: one runs a source file) or Maven is missing.
fetch_java() {
  local java=$directory/java
  [ ! -e "$java/jca.jar" ] || [ "$(cat "$java/made-for" 2>/dev/null)" != "$caj $zipkin" ] || return 0
  if ! command -v javac >/dev/null || ! command -v mvn >/dev/null; then
    say "no JDK or no Maven: the tests with the Java client and with Zipkin will be skipped"
    return 0
  fi
  say "Java client CAJ (org.epics:jca $caj), Zipkin (io.zipkin:zipkin-server $zipkin)"
  mkdir -p "$java"
  # As files alone: not what they were built with.
  cat >"$java/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>fetch</artifactId><version>1</version><packaging>pom</packaging>
  <build><plugins><plugin>
    <artifactId>maven-dependency-plugin</artifactId>
    <configuration><outputDirectory>$java</outputDirectory><artifactItems>
      <artifactItem>
        <groupId>org.epics</groupId><artifactId>jca</artifactId><version>$caj</version>
        <destFileName>jca.jar</destFileName>
      </artifactItem>
      <artifactItem>
        <groupId>io.zipkin</groupId><artifactId>zipkin-server</artifactId><version>$zipkin</version>
        <classifier>slim</classifier><destFileName>zipkin.jar</destFileName>
      </artifactItem>
    </artifactItems></configuration>
  </plugin></plugins></build>
</project>
POM
  mvn --batch-mode --quiet --file "$java/pom.xml" dependency:copy >"$java/mvn.log" 2>&1 || {
    cat "$java/mvn.log" >&2
    die "could not fetch them with mvn"
  }
  sha256sum --check --status <<<"$zipkin_sum  $java/zipkin.jar" ||
    die "zipkin-server $zipkin is not the file that it was: $java/zipkin.jar"
  printf '%s\n' "$caj $zipkin" >"$java/made-for"
}
fetch_java

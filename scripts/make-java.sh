#!/usr/bin/env bash
# Fetches what end-to-end tests run in Java, once:
#
#   scripts/make-java.sh DIRECTORY
#
#   DIRECTORY/jca.jar, zipkin.jar    the client CAJ and Zipkin, where there is a JDK and Maven
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/make-java.sh DIRECTORY"
mkdir -p "$1"
java=$(cd "$1" && pwd)
# One version of each, which is that of the file's sum (the client has none: it is small, and old).
readonly caj=2.4.9 zipkin=3.5.1 zipkin_sum=7956e7f2c64b7073e1362b81e697fceb5fe61e121ad3cb48d545461026964b0f

# Their tests skip, and say so, where a JDK (17 or later: one runs a source file) or Maven is missing.
[ ! -e "$java/jca.jar" ] || [ "$(cat "$java/made-for" 2>/dev/null)" != "$caj $zipkin" ] || exit 0
if ! command -v javac >/dev/null || ! command -v mvn >/dev/null; then
  say "no JDK or no Maven: the tests with the Java client and with Zipkin will be skipped"
  exit 0
fi
say "Java client CAJ (org.epics:jca $caj), Zipkin (io.zipkin:zipkin-server $zipkin)"
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

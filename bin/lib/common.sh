# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the programs in bin/: where things are, what must be installed, how to build.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
PROGRAM=$(basename "$0")
PLUGIN_JAR=$ROOT/shuffle-rdma/target/shuffle-rdma-0.1.0-SNAPSHOT.jar
BENCHMARKS_JAR=$ROOT/benchmarks/target/shuffle-rdma-benchmarks-0.1.0-SNAPSHOT.jar
BUILD_PACKAGES="gcc make libibverbs-dev librdmacm-dev"

say() { printf '%s: %s\n' "$PROGRAM" "$*" >&2; }

# die STATUS MESSAGE: 2 is for what the caller can put right, 1 for what went wrong.
die() { local status=$1; shift; say "$*"; exit "$status"; }

# need_jdk_and_maven: a JDK of 17 or newer (JAVA_HOME first, else the PATH) and Maven 3.8.1 or newer.
need_jdk_and_maven() {
  local javac=javac version
  if [ -n "${JAVA_HOME:-}" ]; then
    javac=$JAVA_HOME/bin/javac
    [ -x "$javac" ] || die 2 "JAVA_HOME=$JAVA_HOME holds no bin/javac: point it at a JDK 17 or newer, or unset it"
  elif ! command -v javac >/dev/null; then
    die 2 "no JDK found: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME to a JDK 17 or newer"
  fi
  version=$("$javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p' | head -n 1)
  [ "${version:-0}" -ge 17 ] ||
    die 2 "$javac is of JDK ${version:-?}, and 17 or newer is needed: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME"
  JAVA=$(dirname "$(readlink -f "$(command -v "$javac")")")/java
  export JAVA_HOME=${JAVA%/bin/java}
  command -v mvn >/dev/null || die 2 "Maven is missing: apt-get install maven"
}

# need_packages TEST PACKAGES...: installs Debian packages if TEST fails, or names the command that does. Options of apt-get come first.
need_packages() {
  local test=$1; shift
  eval "$test" && return 0
  if [ "$(id -u)" != 0 ]; then
    die 2 "packages are missing. As root: apt-get install -y $*"
  fi
  command -v apt-get >/dev/null || die 2 "missing: $*. Install them with this system's package manager"
  say "apt-get install $*"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; } >/dev/null ||
    die 1 "apt-get could not install $*: run 'apt-get install $*' to see why"
}

need_build_packages() {
  # shellcheck disable=SC2086
  need_packages 'command -v gcc >/dev/null && command -v make >/dev/null &&
    echo "#include <rdma/rdma_cma.h>" | gcc -E -x c - >/dev/null 2>&1' $BUILD_PACKAGES
}

# name_maven_remedy LOG: where Maven could not fetch something, which it does not always say.
name_maven_remedy() {
  ! grep -qE 'Could not transfer|in offline mode|No plugin found for prefix' "$1" ||
    say "Maven could not fetch what it needs from Maven Central: give it a way there, or a proxy or mirror in ~/.m2/settings.xml"
}

# run_logged NAME CMD...: CMD with its output in target/logs/NAME.log; the log's errors on stderr if it fails.
run_logged() {
  local name=$1 log=$ROOT/target/logs/$1.log
  shift
  mkdir -p "$ROOT/target/logs"
  if ! (cd "$ROOT" && "$@") >"$log" 2>&1; then
    { grep -E 'ERROR|error:|warning:|\*\*\*' "$log" || tail -n 20 "$log"; } | head -n 30 >&2
    name_maven_remedy "$log"
    say "$name failed; the whole log is $log"
    return 1
  fi
}

# build_jars: natives and jars, without tests and quality gates; nothing if no source is newer than the last build.
build_jars() {
  local stamp=$ROOT/target/built
  [ -w "$ROOT" ] || die 2 "$ROOT is not writable for $(id -un): clone the repository where you may write"
  mkdir -p "$ROOT/target"
  if [ -f "$ROOT/native-verbs/Makefile" ]; then
    run_logged make-all make -s -C native-verbs all || exit 1
  fi
  if [ -f "$PLUGIN_JAR" ] && [ -f "$BENCHMARKS_JAR" ] && [ -f "$stamp" ] && [ -z "$(newer_than "$stamp")" ]; then
    return 0
  fi
  say "building the jars (the first time Maven fetches what Spark needs, some minutes)"
  run_logged mvn-package mvn -B -ntp -Dlenient -Dmaven.test.skip=true -pl benchmarks -am package || exit 1
  touch "$stamp"
}

newer_than() {
  find "$ROOT/pom.xml" "$ROOT"/{rdma-transport,hardware,shuffle-rdma,benchmarks}/{pom.xml,src} "$ROOT"/native-verbs/target/lib \
    -type f -newer "$1" -print -quit 2>/dev/null
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the programs in bin/: where things are, what must be installed, and how to build.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
PROGRAM=$(basename "$0")
PLUGIN_JAR=$ROOT/shuffle-rdma/target/shuffle-rdma-0.1.0-SNAPSHOT.jar
NODE_SERVICE_JAR=$ROOT/node-service/target/shuffle-rdma-node-service-0.1.0-SNAPSHOT.jar
MAPREDUCE_JAR=$ROOT/mapreduce-rdma/target/shuffle-rdma-mapreduce-0.1.0-SNAPSHOT.jar
BUILD_PACKAGES="gcc libc6-dev make libibverbs-dev librdmacm-dev"
PATH=$PATH:/usr/sbin:/sbin # su without - leaves them out

say() { printf '%s: %s\n' "$PROGRAM" "$*" >&2; }

# die STATUS MESSAGE: Ends the program. Status 2 means that the caller can correct something, 1 that something went
# wrong.
die() { local status=$1; shift; say "$*"; exit "$status"; }

# refuse_to_write FILE: Ends the program because this user cannot write FILE. Says why, whose it is and what helps.
refuse_to_write() {
  local user there=$1 why owner remedy=''
  user=$(id -un 2>/dev/null) || user=$(id -u)
  while [ ! -e "$there" ]; do there=$(dirname "$there"); done
  why=$(
    export LC_ALL=C
    exec 2>&1
    [ -d "$there" ] || { echo >>"$there"; exit; }
    probe=$(mktemp -p "$there") && { echo >"$probe"; rm -f "$probe"; }
  ) || true
  owner=$(stat -c %U "$there")
  case $(stat -c %U "$ROOT"):$why in
    *'No space left'* | *quota*) remedy=": make room there" ;;
    "$user":*'Permission denied'*) remedy=": sudo chown -R $user $ROOT" ;;
    *) remedy=": clone the repository where $user may write" ;;
  esac
  die 2 "$user cannot write $1 (${why##*: }): $there belongs to $owner$remedy"
}

# new_file FILE: Makes an empty FILE, also in the place of another user's, or ends the program.
new_file() {
  { mkdir -p "$(dirname "$1")" && { : >"$1" || { rm -f "$1" && : >"$1"; }; }; } 2>/dev/null || refuse_to_write "$1"
}

# What the program has made for itself, and the process group of run_job's command. Both end with the program.
own=() job=''

# The name of a function that the end of the program calls before that; set by whoever has something to stop.
at_end=''

# make_own VARIABLE FOLDER: Makes a folder of this run's own in FOLDER, and sets the variable to it. It is removed when the
# program ends, by a signal, too.
make_own() {
  local made
  made=$(mktemp -d "$2/$PROGRAM.XXXXXX") || die 2 "$(id -un) cannot make a folder in $2"
  printf -v "$1" %s "$made"
  own+=("$made")
  clean_up_at_end
}

clean_up_at_end() {
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# shellcheck disable=SC2317 # called by the trap
clean_up() {
  trap '' INT TERM HUP # or a second one would leave the processes and the folders
  end_job "$job" "-$job"
  [ -z "$at_end" ] || "$at_end"
  rm -rf "${own[@]}"
}

# run_job CMD...: Runs CMD and returns its status. The end of the program, by a signal, too, ends all processes of CMD, before
# the folders are removed that they use.
run_job() {
  local status=0
  clean_up_at_end
  set -m # makes a process group
  "$@" </dev/null &
  set +m
  job=$!
  wait "$job" || status=$?
  end_job "-$job" # the number of the command itself may be another's by now
  return "$status"
}

# end_job PROCESS...: Ends run_job's command and the processes that it leaves, one after the other, each after 20 s by force. A
# process that has ended stays for as long as its parent does not ask for it.
end_job() {
  local each signal deadline
  [ -n "$job" ] || return 0
  for each in "$@"; do
    signal=TERM deadline=$((SECONDS + 20))
    while [ "$SECONDS" -lt $((deadline + 5)) ] && kill -s "$signal" -- "$each" 2>/dev/null; do
      if [ "$SECONDS" -lt "$deadline" ]; then signal=0; else signal=KILL; fi
      sleep 0.05
    done
  done
  job=''
}

# parse_options SPECS ARGS...: SPECS are words. `--size=` sets the variable size to the option's value (`--size=bytes`
# the variable bytes), `--conf+` appends the option and its value to the array conf, `--spark:add` calls add with the
# value, and `--archive` sets archive to true. Dashes in a name become underscores. With the spec `...` words that are
# not options go to the array operands; with `first` all words from the first such word on do.
parse_options() {
  local _specs=" $1 " _kind _name # no option is called so
  operands=()
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
      -*) ;;
      *)
        case $_specs in
          *' ... '*) operands+=("$1"); shift; continue ;;
          *' first '*) operands=("$@"); return ;;
        esac ;;
    esac
    [[ $1 = *[!.a-z-]* || ! $_specs =~ " $1"([=+:]([a-z_]*))?" " ]] && die 2 "unknown option '$1'; bin/$PROGRAM --help lists the options"
    _kind=${BASH_REMATCH[1]:0:1} _name=${BASH_REMATCH[2]:-${1#--}} _name=${_name//-/_}
    [ -z "$_kind" ] || [ -n "${2:-}" ] || die 2 "$1 needs a value; see bin/$PROGRAM --help"
    case $_kind in
      '') printf -v "$_name" true; shift; continue ;;
      =) printf -v "$_name" %s "$2" ;;
      +) eval "$_name+=(\"\$1\" \"\$2\")" ;;
      :) "$_name" "$2" ;;
    esac
    shift 2
  done
}

# need_jdk_and_maven: Requires a JDK of 17 or newer (JAVA_HOME first, else the PATH) and Maven 3.8.1 or newer. Sets JAVA
# and JAVA_HOME.
need_jdk_and_maven() {
  local javac=javac version
  if [ -n "${JAVA_HOME:-}" ]; then
    javac=$JAVA_HOME/bin/javac
    [ -x "$javac" ] || die 2 "JAVA_HOME=$JAVA_HOME holds no bin/javac: point it at a JDK 17 or newer, or unset it"
  elif ! command -v javac >/dev/null; then
    die 2 "no JDK found: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME to a JDK 17 or newer"
  fi
  version=$("$javac" -version 2>&1) ||
    die 2 "$javac does not start: mend JAVA_TOOL_OPTIONS, or set JAVA_HOME to another JDK. It says: ${version:-nothing}"
  version=$(sed -n 's/^javac \([0-9]*\).*/\1/p' <<<"$version")
  [ "${version:-0}" -ge 17 ] ||
    die 2 "$javac belongs to JDK ${version:-?}, but 17 or newer is needed: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME"
  JAVA=$(dirname "$(readlink -f "$(command -v "$javac")")")/java
  export JAVA_HOME=${JAVA%/bin/java}
  command -v mvn >/dev/null || die 2 "Maven is missing: apt-get install maven"
}

# need_packages TEST PACKAGES...: If TEST fails, installs Debian packages or names the command that does. Options of
# apt-get come first.
need_packages() {
  local test=$1; shift
  eval "$test" && return 0
  if [ "$(id -u)" != 0 ]; then
    die 2 "packages are missing; install them as root: apt-get install -y $*"
  fi
  command -v apt-get >/dev/null || die 2 "these packages are missing; install them with this system's package manager: $*"
  say "apt-get install $*"
  { update_packages && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq "$@"; } >/dev/null ||
    die 1 "apt-get could not install $*: run 'apt-get install $*' to see why"
}

# update_packages: Waits for another apt-get update, which apt-get itself does not.
update_packages() {
  local why deadline=$((SECONDS + 600))
  until why=$(LC_ALL=C apt-get update -qq 2>&1); do
    [[ $why = *'get lock'* && $SECONDS -lt $deadline ]] || { printf '%s\n' "$why" >&2; return 1; }
    sleep 2
  done
}

# need_commands NAME...: Fails if a command is missing.
need_commands() { local name; for name in "$@"; do command -v "$name" >/dev/null || return 1; done; }

need_build_packages() {
  # shellcheck disable=SC2086
  need_packages 'command -v gcc >/dev/null && command -v make >/dev/null &&
    echo "#include <rdma/rdma_cma.h>" | gcc -E -x c - >/dev/null 2>&1' $BUILD_PACKAGES
}

# need_cross_compiler: Requires a compiler for aarch64, ${CROSS}gcc.
CROSS=aarch64-linux-gnu-
need_cross_compiler() { need_packages "need_commands ${CROSS}gcc ${CROSS}objdump" gcc-aarch64-linux-gnu libc6-dev-arm64-cross; }

# name_maven_remedy LOG: Prints the remedy if the log shows that Maven could not fetch something.
name_maven_remedy() {
  ! grep -qE 'Could not transfer|in offline mode|No plugin found for prefix|Could not find artifact|This failure was cached' "$1" ||
    say "Maven could not fetch what it needs from Maven Central: open a way there, or name a proxy or mirror in ~/.m2/settings.xml," \
      "and call mvn -U once if it goes on after that"
}

# run_logged NAME CMD...: Runs CMD with its output in target/logs/NAME.log; prints the log's errors on stderr if it
# fails. Ends the program if the log cannot be written, or another user's file was in the way.
run_logged() {
  local name=$1 log=$ROOT/target/logs/$1.log status=0 foreign
  shift
  new_file "$log"
  { (cd "$ROOT" && "$@") || status=$?; echo "$name: status $status"; } >"$log" 2>&1 || refuse_to_write "$log"
  [ "$status" != 0 ] || return 0
  { grep -E 'ERROR|error:|warning:|\*\*\*' "$log" || tail -n 20 "$log"; } | head -n 30 >&2
  name_maven_remedy "$log"
  say "$name failed; the whole log is $log"
  foreign=$(find "$ROOT"/target/spark-home "$ROOT"/*/target ! -user "$(id -u)" ! -writable ! -type l -print -quit 2>/dev/null) || true
  [ -z "$foreign" ] || refuse_to_write "$foreign"
  return 1
}

# junit_sums REPORT...: Prints how many tests of the reports passed, failed and were skipped.
junit_sums() {
  cat -- /dev/null "$@" | tr '\n' ' ' | { grep -aoE '<testsuite [^>]*>' || true; } | awk '
    function attribute(name) {
      return match($0, " " name "=\"[0-9]+\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0 : 0 }
    { tests += attribute("tests"); bad += attribute("failures") + attribute("errors"); skipped += attribute("skipped") }
    END { print tests - bad - skipped, bad + 0, skipped + 0 }'
}

# alone CMD...: Runs CMD, a function of this shell, while no other program of bin/ builds or fetches here. The lock is that of the
# folder target, so every user can take it.
alone() {
  local lock
  mkdir -p "$ROOT/target" 2>/dev/null || refuse_to_write "$ROOT/target"
  exec {lock}<"$ROOT/target"
  flock -n "$lock" || say "waiting for another program of bin/ that builds in $ROOT"
  flock -w 1800 "$lock" || die 1 "another program of bin/ has been building for half an hour: $ROOT/target is locked"
  "$@"
  set -- $?
  exec {lock}>&-
  return "$1"
}

# need_writable_checkout: Refuses another user's checkout, and a read-only one, before anything is tried in it.
need_writable_checkout() { [ -w "$ROOT" ] || refuse_to_write "$ROOT"; }

# build_jars MODULE: Builds the natives and the jars of a module and its dependencies, without tests and quality gates.
build_jars() {
  need_writable_checkout
  need_jdk_and_maven
  need_build_packages
  alone build "$1" package -Dmaven.test.skip=true
}

# jar_of MODULE: Prints the jar by which a package of the module is complete.
jar_of() {
  case $1 in
    node-service) echo "$NODE_SERVICE_JAR" ;;
    mapreduce-rdma) echo "$MAPREDUCE_JAR" ;;
    *) echo "$PLUGIN_JAR" ;;
  esac
}

# build MODULE PHASE ARGS...: Runs only `make` if no source is newer than the last build.
build() {
  local stamp=$ROOT/$1/target/$2.stamp
  run_logged make-all make -s -j "$(nproc)" -C native-verbs all || exit 1
  if [ ! -f "$stamp" ] || { [ "$2" = package ] && [ ! -f "$(jar_of "$1")" ]; } || [ -n "$(newer_than "$stamp" "$2")" ] ||
    { [ "$1" = benchmarks ] && ! has_all_jars "$ROOT/benchmarks/target/spark-home.classpath"; }; then
    say "building $1 (the first time Maven fetches what Spark needs, some minutes)"
    new_file "$stamp.new" # sources that change meanwhile are newer
    run_logged "mvn-$1" mvn -B -ntp -Dlenient -pl "$1" -am "${@:2}" || exit 1
    mv "$stamp.new" "$stamp"
  fi
}

# has_all_jars FILE: Whether FILE has a class path all of whose jars this user can read.
has_all_jars() {
  [ -s "$1" ] && [ -z "$(tr ':' '\n' <"$1" | while read -r jar || [ -n "$jar" ]; do [ -r "$jar" ] || echo "$jar"; done)" ]
}

# newer_than STAMP [test-compile]: Prints a file that is newer than STAMP, if there is one: a source of the jars, a native
# library of any architecture or, with test-compile, a source of the tests.
newer_than() {
  local sources=src/main
  [ "${2:-}" != test-compile ] || sources=src
  find "$ROOT/pom.xml" "$ROOT"/{rdma-transport,hardware,node-service,mapreduce-rdma,shuffle-rdma,benchmarks,spark-tests}/{pom.xml,"$sources"} "$ROOT"/native-verbs/target/{,aarch64/}lib \
    -type f -newer "$1" -print -quit 2>/dev/null
}

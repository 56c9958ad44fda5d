#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs on the host rather than in a guest: tests of what bin/rxe promises to its users. Without --all it runs only what
# needs a single boot, or the named cases. Each case is a function that returns 0, or 77 after printing why it cannot
# run. Its folder is $work.
# shellcheck disable=SC2016,SC2317 # scripts for guests stand in quotes, and the cases are called by their names
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/rxe.sh"
rxe=$ROOT/bin/rxe
scratch=$(mktemp -d)
started=() # what this shell has started
mounted=   # what it has mounted
failed=0
end_started() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  [ -z "$mounted" ] || umount -l "$mounted"
}
trap 'end_started; rm -rf "$scratch"' EXIT
trap 'exit 143' HUP INT TERM

wrong() { echo "$*"; return 1; }

# The longest time that a run takes: a boot that is just in time, and the end. Guests that are to end by --timeout get
# this.
run_seconds=$((RXE_BOOT_SECONDS + 60))

# run_bounded SECONDS CMD...: Runs CMD with its output in $work/out and $work/err; returns its status. CMD ends with
# this shell.
run_bounded() {
  timeout -k 10 "$@" >"$work/out" 2>"$work/err" </dev/null &
  started+=($!)
  wait $!
}

# expect STATUS ARGS...: bin/rxe with ARGS must end with STATUS.
expect() {
  local wanted=$1 status=0
  shift
  run_bounded $((run_seconds + 60)) "$rxe" --logs "$work/logs" "$@" || status=$?
  [ "$status" = "$wanted" ] || wrong "status $status, not $wanted: $* $(tail -n 20 "$work/err")"
}

says() { grep -aqF -- "$1" "$work/err" || wrong "it does not say '$1' but: $(cat "$work/err")"; }

# start ARGS...: Starts bin/rxe with ARGS in the background and sets $rxe_pid.
start() {
  "$rxe" --logs "$work/logs" "$@" >"$work/out" 2>"$work/err" </dev/null &
  rxe_pid=$!
  started+=("$rxe_pid")
}

# wait_for SECONDS WHAT CMD...
wait_for() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || wrong "no $what in time"
    sleep 0.1
  done
}

# guests FOLDER: Prints the QEMU processes whose logs are in FOLDER or below; fails if that cannot be determined.
guests() {
  local status=0
  pgrep -f "^qemu-system-x86_64 .*file:$1/" || status=$?
  [ "$status" -le 1 ]
}
no_guests() { local found; found=$(guests "$1") && [ -z "$found" ]; }
a_guest() { [ -n "$(guests "$1")" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# ends_with STATUS: What start has started must end soon with that status and leave no guest.
ends_with() {
  local status=0
  wait_for 120 "end of bin/rxe" ended "$rxe_pid"
  wait "$rxe_pid" || status=$?
  [ "$status" = "$1" ] || wrong "status $status, not $1: $(tail -n 20 "$work/err")"
  wait_for 30 "end of its guests" no_guests "$work/logs"
}

# refuses TEXT ARGS...
refuses() {
  expect 2 "${@:2}"
  says "$1"
}

# killed_guest_is_told CMD...: Kills a guest as soon as CMD succeeds; bin/rxe must report that.
killed_guest_is_told() {
  start run sleep 1000
  wait_for "$run_seconds" guest "$@"
  # shellcheck disable=SC2046
  kill -9 $(guests "$work/logs")
  ends_with 125
  says 'the guest died'
}
# start_command: Starts a guest and waits until its command runs.
start_command() {
  start run sleep 1000
  wait_for "$run_seconds" command test -e "$work/logs/up"
}

# From here to run_case each function is a case; the list of cases below is read from this comment on.
a_bad_call_is_refused_with_its_remedy() {
  refuses "--timeout '0'" --timeout 0 run true
  refuses 'such as 2G' --memory lots run true
  refuses "--kernel '6'" --kernel 6 run true
  refuses "add --arch arm64, or give 6.12" --kernel 6.12-16k run true
  refuses "--cpus '0'" --cpus 0 run true
  refuses "unknown option '--no-such'" --no-such run true
  refuses '--timeout needs a value' --timeout
  refuses "unknown command 'walk'" walk
  refuses 'the command is missing' run
  refuses 'give two scripts' pair true
  refuses "unknown option '--every'" test --every
  refuses usage
  refuses 'give another folder with --logs' --logs /proc/none run true
  refuses '--memory is not for test' --memory 3G test
  refuses '--kernel is not for test --all' --kernel "${RXE_LINES[0]}" test --all
  refuses '--logs is not for fetch' fetch
  refuses "unknown part 'twice'" test --all twice
  mkdir -p "$work/used/1/shared"
  touch "$work/used/1/shared/sorted"
  refuses 'has files of another run' --logs "$work/used" pair true true
}

a_command_runs_as_it_would_here() {
  local folder words=('a b' "it's" '$HOME' '' '*' $'two\nlines' '--all' 'ü' "\\") got
  mkdir "$work/a folder"
  cd "$work/a folder"
  folder=$(pwd -P)
  head -c 20000000 /dev/urandom >bytes
  printf 'mine' >file
  cat >script <<'TEXT'
printf '%s\0' "$PWD" "$@" >"$RXE_SHARED/words"
[ "$(uname -r)" = "$RXE_KERNEL" ] || exit 1
[ -z "$(cat)" ] || exit 2
[ "$(stat -c %a /dev/infiniband/uverbs0 /dev/infiniband/rdma_cm | sort -u)" = 666 ] || exit 3
echo theirs >file && touch /usr/bin/rxe-was-here && [ "$(cat file)" = theirs ] || exit 4
(setsid sleep 1000 &)
cat bytes
printf 'no newline' >&2
exit 42
TEXT
  expect 42 run bash ./script "${words[@]}"
  mapfile -d '' -t got <"$work/logs/shared/words"
  words=("$folder" "${words[@]}")
  [ "${got[*]@Q}" = "${words[*]@Q}" ] || wrong "the words came as ${got[*]@Q}"
  cmp "$work/out" bytes
  [ "$(tail -n 1 "$work/err")" = 'no newline' ] || wrong "stderr is: $(cat "$work/err")"
  [ "$(cat file)" = mine ] || wrong 'the guest wrote to this system'
  [ ! -e /usr/bin/rxe-was-here ] || wrong 'the guest wrote to this system'
}

a_missing_command_is_127() {
  expect 127 run no-such-command
  says 'no-such-command: not found'
}
the_highest_status_comes_back() { expect 255 run bash -c 'exit 255'; }
a_panic_is_told() {
  expect 125 run bash -c 'echo c >/proc/sysrq-trigger; sleep 60'
  says 'the guest died'
  says 'panic'
}
a_guest_that_powers_off_is_told() {
  expect 125 run bash -c 'echo o >/proc/sysrq-trigger; sleep 60'
  says 'the guest died'
}

a_guest_killed_at_its_start_is_told() { killed_guest_is_told a_guest "$work/logs"; }
a_guest_killed_in_its_boot_is_told() { killed_guest_is_told eval 'sleep 3 && a_guest "$work/logs"'; }
a_guest_killed_in_its_command_is_told() { killed_guest_is_told test -e "$work/logs/up"; }

a_signal_ends_guest_and_program() {
  start_command
  kill -TERM "$rxe_pid"
  ends_with 143
}
an_interrupt_in_the_boot_of_a_pair_ends_it() {
  # A background command of a script ignores SIGINT unless told otherwise.
  env --default-signal=INT "$rxe" --logs "$work/logs" pair 'sleep 1000' 'sleep 1000' \
    >"$work/out" 2>"$work/err" </dev/null &
  rxe_pid=$!
  started+=("$rxe_pid")
  wait_for 60 process a_guest "$work/logs/2"
  kill -INT "$rxe_pid"
  ends_with 130
}
a_killed_program_takes_its_guest_along() {
  start_command
  kill -9 "$rxe_pid"
  ends_with 137
}
a_killed_timer_takes_its_guest_along() {
  start_command
  # shellcheck disable=SC2046
  kill -9 $(pgrep -f "^timeout .*file:$work/logs/")
  ends_with 125
}
killed_tests_take_their_guest_along() {
  start test
  wait_for 600 guest a_guest "$work/logs"
  kill -9 "$rxe_pid"
  wait_for 30 "end of its guest" no_guests "$work/logs"
}

two_at_once_do_not_meet() {
  local first
  mkdir "$work/second"
  start run bash -c 'echo one'
  first=$rxe_pid
  work=$work/second expect 3 run bash -c 'echo two; exit 3'
  rxe_pid=$first
  ends_with 0
  [ "$(cat "$work/out" "$work/second/out")" = $'one\ntwo' ] || wrong "$(cat "$work/out" "$work/second/out")"
}

the_other_guest_of_a_pair_outlives_a_panic() {
  start pair 'until [ -e $RXE_SHARED/go ]; do sleep 0.2; done; echo c >/proc/sysrq-trigger; sleep 60' \
    'touch $RXE_SHARED/go; until [ -e $RXE_SHARED/seen ]; do sleep 0.2; done; echo alive'
  wait_for "$run_seconds" "word of the panic" grep -qs 'guest 1 ended with status 125; the other still runs' "$work/err"
  touch "$work/logs/shared/seen"
  ends_with 125
  grep -qx '\[2\] alive' "$work/out"
}
a_pair_that_waits_for_nobody_is_bounded() {
  expect 7 --timeout "$run_seconds" pair 'sleep 1000' 'exit 7'
  says 'guest 2 ended with status 7; the other still runs'
  says 'guest 1 ended with status 124'
}

a_full_disk_is_told() {
  [ "$(id -u)" = 0 ] || { echo "needs root, to mount a small file system"; return 77; }
  mkdir "$work/logs"
  mount -t tmpfs -o size=1m tmpfs "$work/logs"
  mounted=$work/logs
  expect 125 run head -c 4000000 /dev/zero
  says 'is the disk full?'
}

# Runs a copy of the programs below a folder with blanks and commas, as a user who may write to his home only.
a_user_needs_no_root() {
  local home="$scratch/the user, his home" status=0
  [ "$(id -u)" = 0 ] || { echo "needs root, to become another"; return 77; }
  chmod 755 "$scratch"
  mkdir -p "$home/project one, two" "$home/.cache/shuffle-rdma/rxe/kernels"
  cp -r "$ROOT/bin" "$home/project one, two/"
  cp -r "$RXE_CACHE/kernels/${RXE_LINES[0]}" "$home/.cache/shuffle-rdma/rxe/kernels/"
  chown -R 65534:65534 "$home"
  cd "$home"
  run_bounded $((run_seconds + 60)) setpriv --reuid 65534 --regid 65534 --clear-groups \
    env -u XDG_CACHE_HOME -u TMPDIR HOME="$home" 'project one, two/bin/rxe' \
    run bash -c 'id -u; ls /sys/class/infiniband; exit 9' || status=$?
  [ "$status $(tr '\n' ' ' <"$work/out")" = '9 0 rxe0 ' ] || wrong "status $status: $(cat "$work/out" "$work/err")"
}

# run_case NAME: Runs the case in a shell of its own.
run_case() {
  local status=0 start=$SECONDS
  work=$scratch/$1
  mkdir -p "$work"
  (
    trap end_started EXIT
    "$1"
  ) >"$work/said" 2>&1 &
  started=($!)
  wait $! || status=$?
  started=()
  case $status in
    0) echo "PASS $1 ($((SECONDS - start)) s)" ;;
    77) echo "SKIP $1: $(tail -n 1 "$work/said")" ;;
    *) echo "FAIL $1 ($((SECONDS - start)) s)"; sed 's/^/    /' "$work/said"; failed=1 ;;
  esac
}

case ${1:-} in
  '') cases=(a_bad_call_is_refused_with_its_remedy a_command_runs_as_it_would_here) ;;
  --all) mapfile -t cases < <(sed -nE '/^# From here/,/^run_case/s/^([a-z0-9_]+)\(\) \{.*/\1/p' "${BASH_SOURCE[0]}" | grep -vx run_case) ;;
  *) cases=("$@") ;;
esac
for name in "${cases[@]}"; do run_case "$name"; done
exit "$failed"

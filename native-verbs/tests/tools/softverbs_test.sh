#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bin/softverbs itself: usage, unknown options and commands, status and arguments of the program, from any folder
# and through a symbolic link; faults that are not understood.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"

expect() {
  wanted=$1
  shift
  status=0
  timeout 20 "$@" >"$work/out.log" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || fail "$*: status $status instead of $wanted"
}

expect 2 "$softverbs"
grep -q '^usage:' "$work/out.log" || fail "no usage"
expect 0 "$softverbs" --help
expect 2 "$softverbs" --no-such-option
grep -q 'no-such-option' "$work/out.log" || fail "the option is not named"
expect 127 "$softverbs" ibv_no_such_program
grep -q 'apt-get install ibverbs-utils' "$work/out.log" || fail "no remedy for a missing program"
expect 7 "$softverbs" sh -c 'exit 7'
mkdir "$work/elsewhere"
ln -s "$softverbs" "$work/elsewhere/sv"
cd "$work/elsewhere" || exit 1
# shellcheck disable=SC2016
expect 0 ./sv sh -c '[ "$1" = "two words" ] && case $LD_LIBRARY_PATH in */lib/softverbs*) ;; *) exit 1 ;; esac' sh 'two words'

# With a fault that is not understood the device must not open: a test that asks for it must not pass without it.
for fault in read read:errno=abc read:flip=1x reg_mr:errno=-1 read:nth= read:once= nowhere:errno=1; do
  expect 1 env SOFTVERBS_FAULT="$fault" "$softverbs" ibv_devinfo
  grep -q "SOFTVERBS_FAULT=$fault is not understood.*unset it" "$work/out.log" || fail "$fault is not named"
  grep -q 'Failed to open device' "$work/out.log" || fail "the device opens with $fault"
done
expect 0 env SOFTVERBS_FAULT=read:status=10,nth=2 "$softverbs" ibv_devinfo

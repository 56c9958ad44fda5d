#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PAGE PROGRAM: what bin/lib/rxe/native.sh relies on, without a guest: PAGE (docs/rxe-differences.md) can be read and names
# tests that exist, its judges find what is not listed, what is gone and what no entry may be, and PROGRAM, which is one of the
# verbs-tests, runs on the software device and refuses to take it for another one.
page=$1
program=$2
here=$(dirname "$0")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0
complain() { echo "$1" >&2; failed=1; }

sed -nE 's/^    (at times )?(all|not run|[0-9.]+) \| ([^ |]+) \| .*/\3/p' "$page" | sort -u >"$folder/names"
[ "$(wc -l <"$folder/names")" -gt 30 ] || complain "$page: no tests found in it"
while read -r name; do
  find "$here/.." -path "$here/../$name.c" | grep -q . || complain "$page: there is no test $name"
done <"$folder/names"
refused=$(awk -v kernel=6.1 -f "$here/compare.awk" "$page" /dev/null)
[ -z "$refused" ] || complain "$page: $refused"

# expect TEXT LINE...: with these lines for a page, the judges say TEXT of what is in $folder/log.
expect() {
  expected=$1
  shift
  printf '    %s\n' "$@" >"$folder/page"
  awk -v test=a/b -v status=1 -v limit=9 -f "$here/observe.awk" "$folder/log" >"$folder/seen"
  said=$(awk -v kernel=6.1 -f "$here/compare.awk" "$folder/page" "$folder/seen" | grep -v ^PASS)
  [ "$said" = "$expected" ] || complain "the judges say '$said', not '$expected', of: $*"
}
printf '%s\n' "differs: event: none, not QP_FATAL" "FAIL one" "PASS two" \
  "2 is not 0: tests/a/b.c:7: [12] failed: call(x) == 0 (errno 5, Input/output error)" "FAIL three" >"$folder/log"
expect "" "all | a/b | one | event: none, not *" "6.1 | a/b | three | 2 is not 0: call(x) == 0"
expect "FAIL not listed: a/b | three | 2 is not 0: call(x) == 0" "all | a/b | one | event: *"
expect "FAIL not listed: a/b | one | event: none, not QP_FATAL" "all | a/b | three | 2 *" "6.12 | a/b | one | event: *"
expect "FAIL gone: all | a/b | two | 2 *" \
  "all | a/b | one | event: *" "6.1 6.12 | a/b | three | 2 *" "all | a/b | two | 2 *" "all | c/d | - | 2 *"
expect "" "all | a/b | one | event: *" "all | a/b | three | 2 *" "at times all | a/b | two | 2 *"

: >"$folder/log"
expect "FAIL not listed: a/b | - | exit status 1" "6.12 | a/b | - | exit *"
printf '%s\n' "PASS one" "the other process is gone" >"$folder/log"
expect "FAIL not listed: a/b | after one | exit status 1" "all | c/d | one | exit *"

# What can be no entry is not passed over in silence.
printf '%s\n' "FAIL one" >"$folder/log"
for line in "all | a/b | one | *" "all | a/b | one | **" "6.13 | a/b | one | no *" "6.1,6.12 | a/b | one | no *" "all|a/b|one|no *" \
  "all | a/b | one | no | *" "all | a/b | no *" "all | a b | one | no *" " all | a/b | one | no *" "not run|a/b|why" "not run | a/b"; do
  expect "FAIL no entry: $line" "at times all | a/b | one | no reason *" "$line"
done

softverbs=$here/../../../bin/softverbs
"$softverbs" "$program" >"$folder/log" 2>&1 || complain "$program fails on the software device: $(cat "$folder/log")"
if RDMA_TEST_DEVICE=softv0 "$softverbs" "$program" >"$folder/log" 2>&1; then
  complain "$program takes the software device for another one"
fi
grep -q 'nothing of the software device is mapped' "$folder/log" || complain "no word of what is mapped: $(cat "$folder/log")"
exit $failed

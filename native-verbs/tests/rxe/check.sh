#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PAGE PROGRAM: what bin/lib/rxe/native.sh relies on, without a guest: PAGE (docs/rxe-differences.md) names tests that
# exist, its judges find what is not listed and what is gone, and PROGRAM, which is one of the verbs-tests, runs on the
# software device and refuses to take it for another one.
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
expect "FAIL not listed: a/b | three | 2 is not 0: call(x) == 0" "all | a/b | one | *"
expect "FAIL not listed: a/b | one | event: none, not QP_FATAL" "all | a/b | three | *" "6.12 | a/b | one | *"
expect "FAIL gone: all | a/b | two | *" "all | a/b | one | *" "all | a/b | three | *" "all | a/b | two | *" "all | c/d | - | *"
expect "" "all | a/b | one | *" "all | a/b | three | *" "at times all | a/b | two | *"
: >"$folder/log"
expect "FAIL not listed: a/b | - | exit status 1" "6.12 | a/b | - | *"

softverbs=$here/../../../bin/softverbs
"$softverbs" "$program" >"$folder/log" 2>&1 || complain "$program fails on the software device: $(cat "$folder/log")"
if RDMA_TEST_DEVICE=softv0 "$softverbs" "$program" >"$folder/log" 2>&1; then
  complain "$program takes the software device for another one"
fi
grep -q 'nothing of the software device is mapped' "$folder/log" || complain "no word of what is mapped: $(cat "$folder/log")"
exit $failed

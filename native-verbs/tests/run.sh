#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh TEST...: runs each program or script with a time limit; 77 is a skip. The last line counts.
set -u

limit=${TEST_LIMIT:-120}
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for test in "$@"; do
  start=$(date +%s)
  timeout -k 5 "$limit" "$test" >"$log" 2>&1
  status=$?
  seconds=$(($(date +%s) - start))
  case $status in
    0) passed=$((passed + 1)) && echo "ok    $test (${seconds} s)" ;;
    77) skipped=$((skipped + 1)) && echo "skip  $test: $(tail -n 1 "$log")" ;;
    *)
      failed=$((failed + 1))
      [ $status -eq 124 ] && echo "no end after $limit s" >>"$log"
      echo "FAIL  $test (status $status, ${seconds} s)"
      sed 's/^/      /' "$log"
      ;;
  esac
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

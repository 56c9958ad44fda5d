#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# error_semantics.sh PAGE HEADER: every row of PAGE (docs/error-semantics.md) names tests that exist, every test of an error row is
# named there, and every IBV_WC_ status of HEADER (infiniband/verbs.h) is mentioned.
page=$1
header=$2
tests=$(dirname "$0")
failed=0
complain() { echo "$page: $1" >&2; failed=1; }

name="($(cd "$tests" && echo */ | sed 's,/ ,|,g; s,/$,,'))/[a-z_0-9]+"
rows=$(grep -cE "\| $name" "$page")
[ "$rows" -gt 15 ] || complain "only $rows rows name a test"
for table in '## RC' '## UD' '## UC'; do
  sed -n "/^$table\$/,/^## /p" "$page" | grep '^| ' | tail -n +2 | while read -r row; do
    last=$(echo "$row" | sed 's/ *|$//; s/.*| *//')
    echo "$last" | grep -qE "^$name" || echo "no test: $row"
  done
done | grep . && complain 'a row without a test'
missing=$(grep -oE "\b$name" "$page" | sort -u | while read -r test; do
  [ -f "$tests/$test.c" ] || echo "$test"
done)
[ -z "$missing" ] || complain "there is no test $missing"
for file in "$tests"/*/error_*.c; do
  test=${file#"$tests"/}
  grep -q "${test%.c}" "$page" || complain "${test%.c} is not in the table"
done
missing=$(sed -n '/^enum ibv_wc_status {/,/^}/s/.*IBV_WC_\([A-Z_]*\).*/\1/p' "$header" | while read -r status; do
  grep -q "\`$status\`" "$page" || echo "$status"
done)
[ -z "$missing" ] || complain "$missing is not mentioned"
exit $failed

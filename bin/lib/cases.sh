# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh by scripts of cases. A case NAME is the function case_NAME, whose claim is in CLAIMS; undo_NAME, if there is one, undoes
# its fault afterwards, also if the case has failed.

# Their claims by name, and their order; set by the script, as is the folder of this run.
declare -A CLAIMS
CASES=()
work=''

# select_cases NAME...: Sets `names` to these cases, or to all.
select_cases() {
  local name
  names=("$@")
  [ $# -gt 0 ] || names=("${CASES[@]}")
  for name in "${names[@]}"; do
    [ -n "${CLAIMS[$name]:-}" ] || die 2 "unknown case '$name': give some of ${CASES[*]}"
  done
}

# run_cases: Runs the selected cases, one after the other, and prints what they print and a verdict for each. Fails if one of them has failed.
run_cases() {
  local name verdict start failed=0
  for name in "${names[@]}"; do
    verdict=PASS start=$SECONDS
    # In a process of its own, as `set -e` has no effect in a condition.
    (set -e; "case_$name") >"$work/case" 2>&1 &
    wait $! || { verdict=FAIL failed=1; }
    cat "$work/case"
    ! declare -F "undo_$name" >/dev/null || "undo_$name" || true
    echo "$verdict $name: ${CLAIMS[$name]} ($((SECONDS - start)) s)"
  done
  return "$failed"
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if a library given as argument needs a symbol of a glibc newer than 2.28 (glibc_floor.h).
set -eu
floor=2.28
failed=0
for library; do
  symbols=$("${OBJDUMP:-objdump}" -T "$library")
  newest=$(printf '%s\n' "$symbols" | grep -o 'GLIBC_[0-9][0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
  if [ -z "$newest" ]; then
    failed=1
    echo "FAIL glibc floor of ${library##*/}: no versioned symbol of glibc found in it"
  elif [ "$(printf '%s\n%s\n' "$newest" "$floor" | sort -V | tail -n 1)" = "$floor" ]; then
    echo "PASS glibc floor of ${library##*/} is $newest"
  else
    failed=1
    echo "FAIL glibc floor of ${library##*/} is $newest, allowed is $floor:"
    printf '%s\n' "$symbols" | grep -F "GLIBC_$newest" | sed 's/^/    /'
  fi
done
exit "$failed"

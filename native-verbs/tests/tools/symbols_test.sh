#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The libraries for unmodified programs export what those of rdma-core 39, 44 and 50 do, under the same version nodes, and
# whatever libraries of rdma-core are installed here. The page of the symbols lists all of them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"
command -v readelf >/dev/null || skip "readelf is not installed (binutils)"
tests=$(dirname -- "$(readlink -f -- "$0")")/..
facades=$tests/../target/lib/softverbs

# exports LIBRARY...: their SYMBOL@NODE, but not the nodes themselves.
exports() {
  for library in "$@"; do
    readelf -W --dyn-syms "$library" | awk '$7 != "UND" && $7 != "ABS" && $8 ~ /@/ { sub(/@@/, "@", $8); print $8 }'
  done | sort -u
}

# compare NAME: what is in wanted, and not in ours?
compare() {
  [ -s "$work/wanted" ] || fail "$1: an empty list"
  comm -23 "$work/wanted" "$work/ours" >"$work/missing.log"
  if [ -s "$work/missing.log" ]; then
    echo "FAIL symbols of $1: $(wc -l <"$work/missing.log") missing"
    sed 's/^/    /' "$work/missing.log"
    failed=1
  else
    echo "PASS symbols of $1: $(wc -l <"$work/wanted")"
  fi
}

failed=0
# A program with more rights than its user must not take files and settings from that user's environment.
readelf -W --dyn-syms "$tests/../target/lib/libsoftverbs.so.1" >"$work/own" || fail "libsoftverbs.so.1 cannot be read"
if grep -w getenv "$work/own"; then
  echo "FAIL the library reads the environment by getenv(): secure_getenv() is due"
  failed=1
else
  echo "PASS the environment is read by secure_getenv() alone"
fi
exports "$facades/libibverbs.so.1" "$facades/librdmacm.so.1" >"$work/ours"
for release in 39 44 50; do
  awk -v release="$release" '!/^#/ && $1 <= release { for (i = 3; i <= NF; i++) print $i "@" $2 }' "$tests/facade/symbols_of_releases.txt" | sort >"$work/wanted"
  compare "rdma-core $release"
done
# The page lists one of the private nodes, which are alike.
grep -v '@IBVERBS_PRIVATE_\(22\|25\|33\|57\|59\|64\)$' "$work/ours" >"$work/listed"
sed -n 's/^| .\([A-Za-z_0-9]*\). | \([A-Z_0-9.]*\) | .*/\1@\2/p' "$tests/../../docs/softverbs-symbols.md" | sort >"$work/documented"
if [ -s "$work/documented" ] && cmp -s "$work/listed" "$work/documented"; then
  echo "PASS symbols in docs/softverbs-symbols.md: $(wc -l <"$work/documented")"
else
  echo "FAIL symbols in docs/softverbs-symbols.md are not those of the libraries"
  diff "$work/listed" "$work/documented" | sed 's/^/    /'
  failed=1
fi
if command -v ldconfig >/dev/null; then
  # shellcheck disable=SC2046
  set -- $(ldconfig -p | awk '/lib(ibverbs|rdmacm)\.so\.1 / { print $NF }')
  if [ $# -gt 0 ]; then
    exports "$@" >"$work/wanted"
    compare "the installed libraries"
  fi
fi
exit $failed

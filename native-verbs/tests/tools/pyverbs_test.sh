#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rdma-core's own Python tests (of the package python3-pyverbs) over the device: each passes, but for those that
# tests/pyverbs/expected.txt lists with the reason. All results are in
# native-verbs/target/pyverbs.txt. Arguments are patterns of the tests to run instead of all.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tools.sh"

folder=$(dirname -- "$(readlink -f -- "$0")")/../pyverbs
/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || skip "python3-pyverbs is not installed"

# The package brings the tests as documentation, which small images leave out; then they come from the package file.
package=/
if [ ! -e /usr/share/doc/rdma-core/tests/run_tests.py ]; then
  package=$work/package
  (cd "$work" && apt-get download -qq python3-pyverbs && dpkg-deb -x python3-pyverbs_*.deb "$package") >"$work/apt.log" 2>&1 ||
    skip "the tests in python3-pyverbs cannot be had: $(tail -n 1 "$work/apt.log")"
fi
cp -r "$package/usr/share/doc/rdma-core/tests" "$work/tests"
gunzip -f "$work"/tests/*.gz 2>/dev/null || true

# The tests of rdma_cm look for the device's network interface.
dev=--dev
"$softverbs" --dev true 2>/dev/null || dev=

# Newer ones ask rdma(8), which asks the kernel, and that does not know the device.
mkdir "$work/bin"
cat >"$work/bin/rdma" <<'TEXT'
#!/bin/sh
echo "[{\"ifname\":\"softv0\",\"port\":1,\"netdev\":\"$(ls /sys/class/infiniband/softv0/device/net 2>/dev/null)\"}]"
TEXT
chmod +x "$work/bin/rdma"
export PATH="$work/bin:$PATH"

cd "$work"
status=0
# shellcheck disable=SC2086
timeout -k 2 280 "$softverbs" $dev /usr/bin/python3 "$folder/judge.py" tests "$folder/expected.txt" \
  "$folder/../../target/pyverbs.txt" "$@" 2>errors || status=$?
[ $status -eq 0 ] || sed 's/^/    /' errors
exit $status

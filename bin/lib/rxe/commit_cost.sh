#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: what publishing a map output costs at its commit, on an ext4 of its own, with rxe0 and
# with the software device. docs/decisions/0009 has the figures.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/rxe/built.sh"
need_jars
modprobe -a loop ext4
truncate -s 2G /tmp/commit.image
mkfs.ext4 -q /tmp/commit.image
mkdir -p /mnt/commit
mount -o loop /tmp/commit.image /mnt/commit
logging=$(tr ':' '\n' <"$ROOT/benchmarks/target/spark-home.classpath" | grep '/slf4j-api-[^/]*$')
for device in rxe0 soft; do
  java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dslf4j.internal.verbosity=ERROR -cp "$PLUGIN_JAR:$logging" \
    org.shufflerdma.hardware.CommitCost --device "$device" --dir /mnt/commit "$@"
done

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe: the tests of registered files on tmpfs, and on ext4 and xfs in loop devices.
set -euo pipefail
modprobe -a loop ext4 xfs
directories=/dev/shm
for kind in ext4 xfs; do
  image=/tmp/$kind.image
  truncate -s 320M "$image"
  "mkfs.$kind" -q "$image"
  mkdir -p "/mnt/$kind"
  mount -o loop "$image" "/mnt/$kind"
  directories+=:/mnt/$kind
done
export RDMA_TEST_DIRECTORIES=$directories
"$(dirname "${BASH_SOURCE[0]}")/junit.sh" -c org.shufflerdma.verbs.MappedFileLifeTest

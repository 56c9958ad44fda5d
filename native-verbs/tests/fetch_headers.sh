#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch_headers.sh SUITE DIR: unpacks rdma-core's headers of a Debian release to DIR. Nothing of this system's apt is changed.
set -euo pipefail
suite=$1 dir=$2
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/sources.list"
touch "$apt/status"
options=(-qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$apt/lists"
  -o Dir::Cache="$apt/cache" -o Dir::State::Status="$apt/status" -o APT::Sandbox::User=)
apt-get "${options[@]}" update
(cd "$apt" && apt-get "${options[@]}" download libibverbs-dev librdmacm-dev)
rm -rf "$dir"
mkdir -p "$dir"
for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$dir"; done

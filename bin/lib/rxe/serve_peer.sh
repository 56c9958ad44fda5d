#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe with a connection as its input and output: a peer of the plugin's transport tests. The
# first line of input is its arguments. It is killed when the connection ends, as if it had crashed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/java.sh"
read -r -a arguments
mkdir -p "${arguments[1]}"
sleep 86400 | test_java -Xmx128m org.shufflerdma.fetch.FetchPeer "${arguments[@]}" &
peer=$!
cat >/dev/null
kill -9 "$peer"

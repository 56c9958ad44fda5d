#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_order.sh "FOLDER..." OBJECT...: the folders of the device from the ground up, and its objects, with their .d files.
# Fails if a file includes a header of a later folder, itself or by another header, or uses a symbol that a later one defines.
set -eu
order=$1
shift
for object in "$@"; do
  name=${object#*softdev/}
  nm "$object" | awk -v name="${name%.o}.c" '
    $(NF - 1) ~ /^[A-TV-Z]$/ { print "defines", name, $NF }
    $(NF - 1) == "U" { print "uses", name, $NF }'
  tr ' ' '\n' <"${object%.o}.d" | sed -n "s|^softdev/\([a-z]*/.*\.h\)\$|includes ${name%.o}.c \1|p"
done | awk -v order="$order" '
  function rank(path) { return folder_rank[substr(path, 1, index(path, "/") - 1)] }
  BEGIN { for (i = split(order, folders); i; i--) folder_rank[folders[i]] = i }
  $1 == "defines" { home[$3] = $2 }
  rank($2) && $1 == "uses" { uses[++count] = $2 " " $3 }
  rank($2) && $1 == "includes" && rank($3) > rank($2) && !told[$0]++ {
    print "FAIL " $2 " includes " $3 ", which is above it"
    failed = 1
  }
  END {
    for (i = 1; i <= count; i++) {
      split(uses[i], use, " ")
      if (rank(home[use[2]]) > rank(use[1])) {
        print "FAIL " use[1] " uses " use[2] " of " home[use[2]] ", which is above it"
        failed = 1
      }
    }
    if (failed) exit 1
    print "PASS no file of the device uses a folder above its own"
  }'

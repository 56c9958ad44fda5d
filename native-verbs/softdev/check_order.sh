#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_order.sh "FOLDER..." OBJECT...: the folders of the device from the ground up, and its objects, with their .d files.
# Fails if a file includes a header of a later folder, itself or by another header, uses a symbol that a later one defines, or
# is in a folder that is not named. What lies in no folder (parts.c) may use all of them, and is what gives the lower
# ones the tables of functions that their headers declare.
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
  function folder(path) { return substr(path, 1, index(path, "/") - 1) }
  function rank(path) { return folder_rank[folder(path)] }
  function fail(text) {
    if (!told[text]++)
      print "FAIL " text
    failed = 1
  }
  BEGIN { for (i = split(order, folders); i; i--) folder_rank[folders[i]] = i }
  folder($2) && !rank($2) { fail("the order of the folders lacks " folder($2)) }
  $1 == "defines" { home[$3] = $2 }
  rank($2) && $1 == "uses" { uses[++count] = $2 " " $3 }
  rank($2) && $1 == "includes" && rank($3) > rank($2) { fail($2 " includes " $3 ", which is above it") }
  END {
    for (i = 1; i <= count; i++) {
      split(uses[i], use, " ")
      if (rank(home[use[2]]) > rank(use[1]))
        fail(use[1] " uses " use[2] " of " home[use[2]] ", which is above it")
    }
    if (failed) exit 1
    print "PASS no file of the device uses a folder above its own"
  }'

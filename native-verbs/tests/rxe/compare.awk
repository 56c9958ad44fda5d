# SPDX-License-Identifier: Apache-2.0
# compare.awk PAGE OBSERVED: are the differences that were seen those that PAGE (docs/rxe-differences.md) lists? Its entries are
# the lines
#     KERNELS | TEST | CASE | WHAT
# that begin with four blanks; KERNELS are 6.1, 6.12, both with a blank between, or `all`, after `at times` for what need not be
# seen; * stands for anything, but not for all of WHAT, which a crash would match too. OBSERVED is what observe.awk wrote. Says
# PASS or SKIP of each case, and FAIL of each difference that is not listed, of each entry that is gone, and of each line with four
# blanks and a | that cannot be read. Variable: kernel (6.1).

function pattern(text) {
  gsub(/[][(){}.+?^$|\\]/, "\\\\&", text)
  gsub(/\*/, ".*", text)
  return "^" text "$"
}

# The entry that explains this difference, or 0; all that do are met.
function explained(difference,   i, found) {
  for (i = 1; i <= entries; i++) if (difference ~ entry[i]) { met[i] = 1; found = i }
  return found
}

FNR == NR {
  if ($0 !~ /^    .*\|/ || /^    KERNELS \| / || /^    not run \| [^ |]+ \| [^ ]/) next
  sub(/^    /, "")
  fields = split($0, part, / \| /)
  at_times = sub(/^at times /, "", part[1])
  if (fields != 4 || part[1] !~ /^(all|6\.12?( 6\.12?)?)$/ || part[2] !~ /^[^ |]+$/ || part[3] !~ /[^ ]/ || part[4] !~ /[^* ]/) {
    print "FAIL no entry: " $0
    next
  }
  if (part[1] != "all" && index(" " part[1] " ", " " kernel " ") == 0) next
  line[++entries] = $0
  optional[entries] = at_times
  entry_test[entries] = pattern(part[2])
  entry[entries] = pattern(part[2] " | " part[3] " | " part[4])
  next
}

{ split($0, part, / \| /); ran[part[2]] = 1; name = part[2] (part[3] == "-" ? "" : ": " part[3]) }

/^pass \| / { print "PASS " name }

/^skip \| / { print "SKIP " name ": " part[4] }

/^differs \| / {
  sub(/^differs \| /, "")
  if (!explained($0)) { print "FAIL not listed: " $0; bad[name] = 1 }
  differs[name] = 1
}

END {
  for (name in differs) if (!(name in bad)) print "PASS " name ", which differs as listed"
  for (i = 1; i <= entries; i++) {
    if (met[i] || optional[i]) continue
    for (test in ran) if (test ~ entry_test[i]) {
      print "FAIL gone: " line[i]
      break
    }
  }
}

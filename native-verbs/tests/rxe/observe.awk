# SPDX-License-Identifier: Apache-2.0
# What a test program wrote (see support/case.h and test.h), as one line for each case: `pass | TEST | CASE`, or
# `skip | TEST | CASE | REASON`, or for each difference `differs | TEST | CASE | WHAT`. A test without cases is the case "-"; what
# happens behind the last case is one as well, "after CASE".
# Variables: test, status (its exit status), limit (seconds after which 124 ended it).

function say(verdict, name, what) { print verdict " | " test " | " name (what == "" ? "" : " | " what) }

# Reasons come before the verdict that they explain. A second process may tell of the same thing.
function tell_reasons(name, other,   i) {
  for (i = 1; i <= reasons; i++) if (!told[name, reason[i]]++) say("differs", name, reason[i])
  if (!reasons) say("differs", name, other)
}

function forget() { reasons = 0 }

/differs: / { sub(/^.*differs: /, ""); reason[++reasons] = $0; next }
/failed: / {
  value = $0
  if (!sub(/: [^ ]*:[0-9]+: \[[0-9]+\] failed: .*/, ": ", value)) value = ""
  sub(/^.*failed: /, "")
  sub(/ \(errno [0-9]+, [^()]*\)$/, "")
  reason[++reasons] = value $0
  next
}
/^skipped: / { skipped = substr($0, 10); next }
/^PASS / { say("pass", substr($0, 6)); last = substr($0, 6); cases++; forget(); next }
/^FAIL / { last = substr($0, 6); cases++; failed++; tell_reasons(last, "no reason given"); forget(); next }

END {
  if (status == 124) reason[++reasons] = "no end after " limit " s"
  if (!cases && status == 0) say("pass", "-")
  else if (!cases && status == 77) say("skip", "-", skipped)
  else if (!cases || status > 1 || (status == 1 && !failed) || reasons) tell_reasons(cases ? "after " last : "-", "exit status " status)
}

# SPDX-License-Identifier: Apache-2.0
# Turns symbols.tbl into one of: a version script (want=map), the assembly source of a facade (want=asm), the rows of
# the stub test (want=test), or the documentation page (want=doc). lib=IBVERBS|RDMACM chooses the library for map and asm.

function add_row(symbol, version, kind, reason) {
  count++
  symbols[count] = symbol; versions[count] = version; kinds[count] = kind; reasons[count] = reason
  default_row[symbol] = default_row[symbol] != "" && version ~ /PRIVATE/ && version != "IBVERBS_PRIVATE_34" ? \
    default_row[symbol] : count
}

BEGIN {
  # Private nodes carry the number of the provider ABI: 34 in rdma-core 34 to 56, others before and after.
  private_count = split("22 25 33 34 57 59 64", private_nodes, " ")
}

/^#/ || NF == 0 { next }

{
  reason = ""
  for (i = 4; i <= NF; i++) reason = reason (i > 4 ? " " : "") $i
  if ($3 != "engine" && reason == "") {
    printf "symbols.tbl: %s is a stub without a reason\n", $2 > "/dev/stderr"
    failed = 1
    exit 1
  }
  if ($1 != "IBVERBS_PRIVATE") {
    add_row($2, $1, $3, reason)
    next
  }
  for (i = 1; i <= private_count; i++)
    add_row($2 == "verbs_register_driver" ? $2 "_" private_nodes[i] : $2, $1 "_" private_nodes[i], $3, reason)
}

END {
  if (failed) exit 1
  if (want == "map") print_map()
  else if (want == "asm") print_asm()
  else if (want == "test") print_test()
  else if (want == "doc") print_doc()
  else { print "generate.awk: want=map|asm|test|doc" > "/dev/stderr"; exit 1 }
}

function belongs(row) { return index(versions[row], lib "_") == 1 }

# Nodes inherit from the one before; private nodes stand alone, as in the original.
function print_map(  row, node, nodes, order, n, previous) {
  for (row = 1; row <= count; row++)
    if (belongs(row)) {
      node = versions[row]
      if (!(node in nodes)) order[++n] = node
      nodes[node] = nodes[node] "    " symbols[row] ";\n"
    }
  for (row = 1; row <= n; row++) {
    node = order[row]
    printf "%s {\n  global:\n%s", node, nodes[node]
    if (row == 1) print "  local: *;"
    printf "}%s;\n", node ~ /PRIVATE/ || row == 1 ? "" : " " previous
    if (node !~ /PRIVATE/) previous = node
  }
}

function print_asm(  row, label, kind) {
  print "#include \"facade.inc\""
  for (row = 1; row <= count; row++)
    if (belongs(row)) {
      label = symbols[row] "_" versions[row]
      gsub(/\./, "_", label)
      split(kinds[row], kind, ":")
      if (kind[1] == "engine") printf "forward %s, softverbs_%s\n", label, symbols[row]
      else if (kind[1] == "data") printf "object %s, %s\n", label, kind[2]
      else printf "stub %s, facade_%s%s\n", label, kind[1], kind[2] == "" ? "" : "_" kind[2]
      printf ".symver %s, %s%s%s\n", label, symbols[row], default_row[symbols[row]] == row ? "@@" : "@", versions[row]
    }
}

function print_test(  row, kind) {
  for (row = 1; row <= count; row++) {
    split(kinds[row], kind, ":")
    printf "{\"%s\", \"%s\", KIND_%s, %s},\n", symbols[row], versions[row], toupper(kind[1]), \
      kind[1] == "data" || kind[2] == "" ? "0" : kind[2]
  }
}

function print_doc(  row, kind, text, library) {
  print "# Symbols of the software verbs device\n"
  print "Generated from native-verbs/softdev/facade/symbols.tbl by `UPDATE=1 make -C native-verbs check-symbols`."
  print "`bin/softverbs` gives programs a libibverbs.so.1 and a librdmacm.so.1 with the following symbols. Nodes"
  print "IBVERBS_PRIVATE_22, _25, _33, _57, _59 and _64 hold the same symbols as IBVERBS_PRIVATE_34."
  for (row = 1; row <= count; row++) {
    if (versions[row] ~ /PRIVATE/ && versions[row] != "IBVERBS_PRIVATE_34") continue
    if (library != (versions[row] ~ /^RDMACM/ ? "librdmacm.so.1" : "libibverbs.so.1")) {
      library = versions[row] ~ /^RDMACM/ ? "librdmacm.so.1" : "libibverbs.so.1"
      printf "\n## %s\n\n| symbol | version | answer | reason |\n|---|---|---|---|\n", library
    }
    split(kinds[row], kind, ":")
    if (kind[1] == "engine") text = "implemented"
    else if (kind[1] == "null") text = "NULL, errno " kind[2]
    else if (kind[1] == "minus1") text = "-1, errno " kind[2]
    else if (kind[1] == "errno") text = "returns " kind[2]
    else if (kind[1] == "noop") text = "does nothing"
    else text = "data"
    printf "| `%s` | %s | %s | %s |\n", symbols[row], versions[row], text, reasons[row]
  }
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh: the network-namespace hosts of bin/hosts. Host K is the namespace $HOSTS-nodeK; its eth0 is one
# end of a veth pair whose other end, portK, is in the bridge br0 of the namespace $HOSTS-switch. Nothing is made in the
# machine's own network namespace, so several sets of hosts (RDMA_HOSTS) use the same addresses without clashing.

HOSTS=${RDMA_HOSTS:-rdma}
HOSTS_STATE=/run/rdma-hosts/$HOSTS

need_hosts_tools() {
  [[ $HOSTS =~ ^[a-z][a-z0-9]{0,20}$ ]] ||
    die 2 "RDMA_HOSTS=$HOSTS: give at most 21 small letters and digits, a letter first, or unset it"
  # Uid 0 alone does not suffice: the root of a container often lacks the capabilities, and the first ip command would
  # not say so.
  [ "$(id -u)" = 0 ] || die 2 "network namespaces need root: sudo bin/$PROGRAM${*:+ $*}"
  need_packages 'command -v ip >/dev/null' iproute2
}

namespace_of() { echo "$HOSTS-$1"; }
address4_of() { echo "10.77.0.$((10 + ${1#node}))"; }
address6_of() { echo "fd77::$((10 + ${1#node}))"; }

hosts_up() { ip netns list 2>/dev/null | sed -n "s/^$HOSTS-\(node[0-9]*\)\( .*\)\{0,1\}\$/\1/p" | sort -V; }

need_host() {
  [[ $1 =~ ^node[0-9]+$ ]] || die 2 "'$1' is not a host: hosts are called node0, node1, ..."
  [ -e "$HOSTS_STATE/$1" ] || die 2 "$1 is not up: bin/hosts up $((${1#node} + 1))"
}

# refused WHAT TEXT: Ends the program with what the kernel or the container refuses and with the remedy.
refused() {
  local what=$1 text=$2
  case $text in
    *"not permitted"* | *"Permission denied"*)
      die 2 "$what: $text: this container's root may not make network namespaces; it needs CAP_NET_ADMIN and CAP_SYS_ADMIN" ;;
    *"Unknown device type"* | *"not supported"* | *"Invalid argument"* | *"No such device"*)
      die 2 "$what: $text: this kernel lacks it; modprobe veth bridge, or a kernel with NET_NS, VETH and BRIDGE" ;;
    *) die 1 "$what: $text" ;;
  esac
}

# attempt WHAT CMD...: Runs CMD; if it fails, ends the program with CMD's message.
attempt() {
  local what=$1 text
  shift
  text=$("$@" 2>&1) || refused "$what" "${text//$'\n'/; }"
}

# Writes the files that every process of a host sees as its own. They are written in place, because running processes
# have them bind-mounted.
write_host_files() {
  local count=$1 k
  mkdir -p "$HOSTS_STATE"
  chmod 755 /run/rdma-hosts "$HOSTS_STATE"
  {
    echo "127.0.0.1 localhost"
    echo "::1 localhost"
    for ((k = 0; k < count; k++)); do
      echo "$(address4_of node$k) node$k"
      echo "$(address6_of node$k) node$k-v6"
    done
  } >"$HOSTS_STATE/hosts"
  # There is no name server, so unknown names fail at once.
  : >"$HOSTS_STATE/resolv.conf"
  if [ ! -s "$HOSTS_STATE/secret" ]; then
    (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$HOSTS_STATE/secret.new")
    mv "$HOSTS_STATE/secret.new" "$HOSTS_STATE/secret"
  fi
}

# make_switch MTU
make_switch() {
  local mtu=$1 switch
  switch=$(namespace_of switch)
  [ ! -e "$HOSTS_STATE/switch" ] || return 0
  remove_namespace "$switch"
  attempt "network namespaces" ip netns add "$switch"
  attempt "the bridge" ip -n "$switch" link add br0 type bridge mcast_snooping 0
  ip netns exec "$switch" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6' 2>/dev/null || true
  attempt "the bridge" ip -n "$switch" link set br0 mtu "$mtu" up
  echo "$mtu" >"$HOSTS_STATE/switch"
}

# make_host NAME MTU: Makes a host. Its file in the state folder is written last, so a host without the file is
# incomplete.
make_host() {
  local host=$1 mtu=$2 ns switch port=port${1#node}
  ns=$(namespace_of "$host") switch=$(namespace_of switch)
  [ ! -e "$HOSTS_STATE/$host" ] || return 0
  remove_namespace "$ns"
  ip -n "$switch" link del "$port" 2>/dev/null || true
  attempt "network namespaces" ip netns add "$ns"
  attempt "the veth pair" ip -n "$switch" link add "$port" mtu "$mtu" type veth peer name eth0 mtu "$mtu" netns "$ns"
  attempt "the bridge" ip -n "$switch" link set "$port" master br0 up
  # Makes addresses usable at once and keeps them when the link goes down.
  ip netns exec "$ns" sh -c 'cd /proc/sys/net/ipv6/conf/eth0 && echo 0 >accept_dad && echo 0 >accept_ra && echo 1 >keep_addr_on_down' \
    2>/dev/null || true
  attempt "lo of $host" ip -n "$ns" link set lo up
  attempt "the address of $host" ip -n "$ns" addr add "$(address4_of "$host")/24" dev eth0
  if [ -e /proc/sys/net/ipv6 ]; then
    attempt "the IPv6 address of $host" ip -n "$ns" addr add "$(address6_of "$host")/64" dev eth0 nodad
  fi
  attempt "eth0 of $host" ip -n "$ns" link set eth0 up
  attempt "the multicast route of $host" ip -n "$ns" route add 224.0.0.0/4 dev eth0
  wait_for_link "$host" || die 1 "the link of $host is not up after 5 s"
  echo "$host" >"$HOSTS_STATE/$host"
}

# Waits until the host has a carrier and the switch, which learns of it a little later, forwards in both directions.
wait_for_link() {
  local _
  for _ in $(seq 100); do
    ip -n "$(namespace_of "$1")" link show eth0 | grep -q 'LOWER_UP' &&
      ip -n "$(namespace_of switch)" -d link show "port${1#node}" | grep -q 'bridge_slave state forwarding' && return 0
    sleep 0.05
  done
  return 1
}

# ends_of_link NAME: Prints the namespace and the device of each end of a host's link, where packets arrive.
ends_of_link() { printf '%s %s\n' "$(namespace_of switch)" "port${1#node}" "$(namespace_of "$1")" eth0; }

# lose_ports NAME LOW-HIGH: Loses UDP and these ports of TCP where they arrive, so that their senders see nothing of it.
lose_ports() {
  local namespace device
  need_packages 'need_commands nft' nftables
  lose_no_ports "$1"
  while read -r namespace device; do
    attempt "the filter of $1" ip netns exec "$namespace" nft "table netdev lose-$device {
      chain arriving { type filter hook ingress device $device priority 0; meta l4proto udp drop; tcp dport $2 drop; tcp sport $2 drop; }
    }"
  done < <(ends_of_link "$1")
}

lose_no_ports() {
  local namespace device
  while read -r namespace device; do
    ip netns exec "$namespace" nft delete table netdev "lose-$device" 2>/dev/null || true
  done < <(ends_of_link "$1")
}

# Ends the processes of a namespace, by the pids that the kernel lists for it, and removes it. Does nothing if it does
# not exist.
remove_namespace() {
  local ns=$1 pids attempt
  [ -e "/run/netns/$ns" ] || return 0
  for attempt in $(seq 100); do
    pids=$(ip netns pids "$ns" 2>/dev/null || true)
    [ -n "$pids" ] || break
    # Processes have a second to end; then they are killed, repeatedly, because they may have forked meanwhile.
    # shellcheck disable=SC2086
    if [ "$attempt" = 1 ]; then
      kill -TERM $pids 2>/dev/null || true
      kill -CONT $pids 2>/dev/null || true
    elif [ "$attempt" -gt 20 ]; then
      kill -KILL $pids 2>/dev/null || true
    fi
    sleep 0.05
  done
  [ -z "$pids" ] || say "these processes still run in $ns and cannot be killed: $(echo "$pids" | tr '\n' ' ')"
  ip netns del "$ns" 2>/dev/null || umount -l "/run/netns/$ns" 2>/dev/null || true
  rm -f "/run/netns/$ns"
}

# on_host NAME CMD...: Replaces this process by CMD on the host, so that its pid, its signals and its exit status are
# CMD's own.
on_host() {
  local host=$1
  shift
  # shellcheck disable=SC2016
  exec env HOSTNAME="$host" SOFTVERBS_SECRET_FILE="${SOFTVERBS_SECRET_FILE-$HOSTS_STATE/secret}" \
    ip netns exec "$(namespace_of "$host")" unshare --uts sh -c '
      state=$1
      shift
      echo "$HOSTNAME" >/proc/sys/kernel/hostname
      for file in hosts resolv.conf; do
        [ ! -e "/etc/$file" ] || mount --bind "$state/$file" "/etc/$file" || exit 1
      done
      exec "$@"' "$PROGRAM" "$HOSTS_STATE" "$@"
}

# link_bytes NAME: Prints how many bytes the host's eth0 has received and sent.
link_bytes() {
  # shellcheck disable=SC2016
  ip netns exec "$(namespace_of "$1")" awk 'FNR == 1 { n[++i] = $0 } END { print "rx=" n[1], "tx=" n[2] }' \
    /sys/class/net/eth0/statistics/rx_bytes /sys/class/net/eth0/statistics/tx_bytes
}

# received_bytes NAME...: Prints how many bytes the links of these hosts have received.
received_bytes() {
  local host sum=0 bytes
  for host in "$@"; do
    bytes=$(link_bytes "$host")
    bytes=${bytes#rx=}
    sum=$((sum + ${bytes%% *}))
  done
  echo "$sum"
}

# http_get HOST PORT PATH: Prints the answer of a server there, or nothing if none comes within 5 s.
http_get() {
  # shellcheck disable=SC2016
  timeout 5 "$ROOT/bin/hosts" on "$1" bash -c 'exec 3<>"/dev/tcp/$0/$1"
    printf "GET %s HTTP/1.0\r\n\r\n" "$2" >&3
    cat <&3' "$@" 2>/dev/null || true
}

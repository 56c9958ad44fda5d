# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh: fetches kernels from packages of Debian or Ubuntu and boots QEMU guests with them. A kernel
# is a folder of the cache: vmlinuz, version, initrd-CKSUM, and lib/modules as in the package. A guest of another
# architecture than this machine's has a root file system of Debian's packages, which is in the cache, too.

RXE_CACHE=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/shuffle-rdma/rxe
RXE_MIRROR=${RXE_MIRROR:-}
RXE_BOOT_SECONDS=240
# The recommended packages of QEMU are for a desktop, some 200 more.
RXE_PACKAGES="--no-install-recommends qemu-system-x86 busybox-static cpio kmod xz-utils e2fsprogs xfsprogs iproute2 procps
  rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest zstd debian-archive-keyring"

# Kernel lines to test; most tests run on the first only. Ubuntu's own kernels are used unless RXE_MIRROR names Debian's
# archives.
RXE_LINES=(6.1 6.12 newest) RXE_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2034 # RXE_LINES is for those who source this
if [ -z "$RXE_MIRROR" ] && grep -qs '^ID=ubuntu$' /etc/os-release; then
  RXE_LINES=(6.8 newest) RXE_KEYRING=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  RXE_PACKAGES="${RXE_PACKAGES/debian-archive-keyring/ubuntu-keyring}"
fi

# The guests' architecture, their root file system, and what else of this machine they see.
RXE_ARCH=amd64 RXE_SYSTEM=/ RXE_TREES=()
RXE_SYSTEM_RELEASE=bookworm
RXE_SYSTEM_PACKAGES="bash coreutils mawk sed grep findutils util-linux mount hostname procps psmisc kmod dash diffutils gzip tar base-passwd libc-bin
  iproute2 iputils-ping busybox-static libibverbs1 ibverbs-providers ibverbs-utils librdmacm1 openjdk-17-jre-headless"

# use_arch ARCH: Makes the functions below work on guests of this architecture.
use_arch() {
  case $1 in
    amd64) return ;;
    arm64) ;;
    *) die 2 "--arch '$1': give amd64 or arm64" ;;
  esac
  [[ $RXE_KEYRING = *debian* ]] || die 2 "guests of arm64 are made of Debian's packages: set RXE_MIRROR to the address of a mirror of Debian"
  RXE_ARCH=$1 RXE_CACHE=$RXE_CACHE/$1 RXE_PACKAGES+=" qemu-system-arm"
  RXE_SYSTEM=$RXE_CACHE/system RXE_TREES=("$ROOT" "$RXE_CACHE")
  [ ! -d "${HOME:-}/.m2" ] || RXE_TREES+=("$HOME/.m2")
}

need_rxe_tools() {
  [ "$(uname -sm)" = "Linux x86_64" ] || die 2 "guests run on Linux on x86_64 only; this is $(uname -sm)"
  { command -v apt-get && command -v dpkg-deb; } >/dev/null ||
    die 2 "the kernels come from packages of Debian or Ubuntu: apt-get and dpkg-deb are needed" \
      "(Debian 12, Ubuntu 24.04 or newer)"
  # shellcheck disable=SC2016,SC2086 # need_packages evaluates it; the names are words
  need_packages 'need_commands qemu-system-x86_64 /bin/busybox cpio depmod xz rdma ibv_devinfo rping ib_read_bw mkfs.ext4 mkfs.xfs \
      pgrep ip tc ss zstd && ! ldd /bin/busybox >/dev/null 2>&1 && [ -e "$RXE_KEYRING" ] &&
    ls /usr/lib/*/libibverbs/librxe-*.so >/dev/null 2>&1 && { [ "$RXE_ARCH" != arm64 ] || need_commands qemu-system-aarch64; }' $RXE_PACKAGES
}

# kernel_apt PROGRAM ARGS...: Runs an apt program that sees the kernels' archives and nothing of this system's state, so
# that it works without root.
kernel_apt() {
  local program=$1 apt=$RXE_CACHE/apt
  shift
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  "$program" -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt" \
    -o Dir::State::Lists="$apt/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$apt" -o "APT::Architecture=$RXE_ARCH" \
    -o "APT::Architectures::=$RXE_ARCH" -o Acquire::Languages=none -o Acquire::Retries=3 -o Acquire::http::Timeout=30 \
    -o APT::Sandbox::User= "$@"
}

# own_sources FORMAT: Prints where this system's apt takes packages from, one line each.
own_sources() { apt-get indextargets --no-release-info --format "$1" 'Created-By: Packages' | sort -u; }

# archives: Prints the kernels' archives as lines ADDRESS SUITE COMPONENT. Debian's are on RXE_MIRROR or the mirror in
# this system's sources, and include releases other than this system's.
archives() {
  local mirror=$RXE_MIRROR suite
  # shellcheck disable=SC2016
  case $RXE_KEYRING in
    *ubuntu*) own_sources '$(REPO_URI) $(RELEASE) $(COMPONENT)' | grep ' main$' ;;
    *)
      [ -n "$mirror" ] || mirror=$(own_sources '$(REPO_URI)' | sed -nE 's|^(https?://.*)/debian/?$|\1|p' | head -n 1)
      [ -n "$mirror" ] || return 1
      for suite in "debian bookworm" "debian-security bookworm-security" \
        "debian trixie" "debian-security trixie-security" "debian trixie-backports"; do
        echo "$mirror/$suite main"
      done ;;
  esac
}

# update_package_lists: Fetches as many lists as possible; fails if one is missing. An older keyring lacks the newest
# keys.
update_package_lists() {
  local found
  found=$(archives) ||
    die 2 "RXE_MIRROR is not set and apt's sources name no archive of Debian: set it to the address of a mirror," \
      "without its /debian"
  mkdir -p "$RXE_CACHE/apt"
  # shellcheck disable=SC2001 # each line
  sed "s|^|deb [signed-by=$RXE_KEYRING] |" <<<"$found" >"$RXE_CACHE/apt/sources.list"
  kernel_apt apt-get -qq --error-on=any update >&2
}

# kernel_package LINE: Prints the newest kernel image of the line, or of all lines.
kernel_package() {
  local line="${1%-16k}" pages=''
  [ "$line" = "$1" ] || pages=-16k
  line=${line//./\\.}
  [ "$line" != newest ] || line='[0-9]+\.[0-9]+'
  kernel_apt apt-cache pkgnames linux-image- | grep -E "^linux-image-$line\\.[0-9][^ ]*-($RXE_ARCH|generic)$pages\$" |
    grep -vE -- '-(cloud|rt)-' | sort -V | tail -n 1
}

kernel_version() { cat "$KERNEL/version"; }

# need_kernel LINE: Sets KERNEL to its folder in the cache, and fetches it if it is not there yet.
need_kernel() {
  local line=$1
  [[ $line =~ ^([0-9]+\.[0-9]+|newest)(-16k)?$ ]] ||
    die 2 "--kernel '$line': give a kernel line such as 6.1 or 6.12, or 'newest'; for arm64 also with -16k, such as 6.12-16k"
  [[ $line != *-16k || $RXE_ARCH = arm64 ]] ||
    die 2 "--kernel '$line': only kernels for arm64 have pages of 16 KiB: add --arch arm64, or give ${line%-16k}"
  KERNEL=$RXE_CACHE/kernels/$line
  mkdir -p "$RXE_CACHE/kernels" 2>/dev/null ||
    die 2 "$(id -un) cannot make $RXE_CACHE, where kernels are kept: set XDG_CACHE_HOME to a folder to keep them in"
  exec 8<"$RXE_CACHE/kernels"
  flock -w 900 8 || die 1 "another bin/rxe is fetching a kernel: $RXE_CACHE/kernels is locked"
  [ -e "$KERNEL/version" ] || fetch_kernel "$line"
  [ "$RXE_SYSTEM" = / ] || [ -e "$RXE_SYSTEM" ] || fetch_system
  [[ $line = newest* || $(kernel_version) = "${line%-16k}".* ]] || die 1 "$KERNEL holds $(kernel_version): remove it"
  INITRD=$KERNEL/initrd-$(cksum <"$ROOT/bin/lib/rxe/init" | cut -d ' ' -f 1)
  [ -e "$INITRD" ] || make_initrd
  exec 8<&-
}

# Since 7.0 Debian's image package is empty and its files are in three other packages; Ubuntu's modules are in two
# packages.
fetch_kernel() {
  local line=$1 image version part new=$KERNEL.new modules complete=yes
  update_package_lists || complete=no
  image=$(kernel_package "$line") || true
  if [ -z "$image" ]; then
    [ "$complete" = yes ] ||
      die 1 "not all package lists of kernels can be had, see above; RXE_MIRROR names a mirror of Debian"
    die 2 "no kernel $line in $(cut -d ' ' -f 3 "$RXE_CACHE/apt/sources.list" | sort -u | tr '\n' ' '):" \
      "try --kernel newest"
  fi
  version=${image#linux-image-}
  say "fetching kernel $version into $RXE_CACHE (once)"
  rm -rf "$new"
  mkdir -p "$new/packages"
  for part in "linux-image-$version" "linux-base-$version" "linux-binary-$version" "linux-modules-$version" \
    "linux-modules-extra-$version"; do
    kernel_apt apt-cache pkgnames "$part" | grep -Fx "$part" >/dev/null || continue
    (cd "$new/packages" && kernel_apt apt-get -qq download "$part") >&2 ||
      die 1 "$part could not be fetched, see above"
  done
  for part in "$new"/packages/*.deb; do
    dpkg-deb --fsys-tarfile "$part" | tar -x -C "$new" --exclude='*/drivers/gpu' --exclude='*/drivers/media' \
      --exclude='*/sound' --exclude='./usr/share' --exclude='System.map*'
  done
  rm -rf "$new/packages"
  [ ! -d "$new/usr/lib/modules" ] || { mkdir -p "$new/lib" && mv "$new/usr/lib/modules" "$new/lib/modules"; }
  modules=$new/lib/modules/$version
  [ -d "$modules" ] || die 1 "the package of kernel $version holds no modules of it"
  for part in "$new/boot/vmlinuz-$version" "$modules/vmlinuz"; do
    [ ! -e "$part" ] || mv "$part" "$new/vmlinuz"
  done
  [ -e "$new/vmlinuz" ] || die 1 "the package of kernel $version holds no kernel"
  depmod -b "$new" "$version" || die 1 "depmod failed on kernel $version"
  echo "$version" >"$new/version"
  rm -rf "$KERNEL"
  mv -T "$new" "$KERNEL"
}

# The files of the packages, without what their scripts would do but for the links and files that are needed here.
fetch_system() {
  local new=$RXE_SYSTEM.new part archives=$RXE_CACHE/apt/archives
  say "fetching a system of Debian $RXE_SYSTEM_RELEASE for $RXE_ARCH into $RXE_CACHE (once)"
  update_package_lists || die 1 "not all package lists can be had, see above"
  # shellcheck disable=SC2086 # the names are words
  kernel_apt apt-get -qq -y --no-install-recommends --download-only -t "$RXE_SYSTEM_RELEASE" install $RXE_SYSTEM_PACKAGES >&2 ||
    die 1 "the packages of the system could not be fetched, see above"
  rm -rf "$new"
  mkdir -p "$new/usr"
  for part in bin sbin lib; do
    mkdir "$new/usr/$part"
    ln -s "usr/$part" "$new/$part"
  done
  for part in "$archives"/*.deb; do
    dpkg-deb --fsys-tarfile "$part" | tar -x -C "$new" --keep-directory-symlink --exclude='./usr/share/doc' --exclude='./usr/share/man'
  done
  rm -f "$archives"/*.deb
  ln -sf mawk "$new/usr/bin/awk"
  ln -sf dash "$new/usr/bin/sh"
  ln -sf "../lib/jvm/java-17-openjdk-$RXE_ARCH/bin/java" "$new/usr/bin/java"
  for part in passwd group; do cp "$new/usr/share/base-passwd/$part.master" "$new/etc/$part"; done
  mkdir -p "$new"/{dev,proc,sys,run,tmp,root}
  rm -rf "$RXE_SYSTEM"
  mv -T "$new" "$RXE_SYSTEM"
}

# The initrd has what the guest needs before it sees the host's files; the guest loads all other modules from the cache.
make_initrd() {
  local tree=$INITRD.tree version file name
  rm -rf "$tree"
  version=$(kernel_version)
  mkdir -p "$tree"/{bin,dev,proc,sys,host,changes,guest,modules}
  cp "$RXE_SYSTEM/bin/busybox" "$tree/bin/busybox"
  install -m 755 "$ROOT/bin/lib/rxe/init" "$tree/init"
  modprobe -d "$KERNEL" -S "$version" --show-depends -a virtio_pci 9pnet_virtio 9p overlay >"$tree/modules/wanted" ||
    die 1 "kernel $version lacks what a guest needs first"
  awk '$1 == "insmod" && !seen[$2]++ { print $2 }' "$tree/modules/wanted" >"$tree/modules/paths"
  while IFS= read -r file; do
    name=$(basename "${file%.ko*}").ko
    case $file in
      *.xz) xz -dc "$file" ;;
      *.zst) zstd -qdc "$file" ;;
      *) cat "$file" ;;
    esac >"$tree/modules/$name"
    echo "$name" >>"$tree/modules/order"
  done <"$tree/modules/paths"
  (cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$INITRD.new"
  rm -rf "$tree"
  mv "$INITRD.new" "$INITRD"
}

# start_guest FOLDER NUMBER NET: Boots a guest in the background and appends its process to `pids`. FOLDER holds
# `command`. The caller sets memory, cpus, interfaces, limit (seconds) and logs; the sockets of NET are in logs, where QEMU
# runs. A hub connects several interfaces with NET.
# The guest dies with this shell, however the shell ends.
# shellcheck disable=SC2154
start_guest() {
  local folder=$1 number=$2 net=$3 peer=$((3 - $2)) version qemu_folder=${1//,/,,} qemu_logs=${logs//,/,,} tree machine interface
  version=$(kernel_version)
  mkdir -p "$folder/shared" "$logs/shared"
  rm -f "$folder/up" "$folder/status"
  cp "$ROOT/bin/lib/rxe/guest.sh" "$folder/guest.sh"
  : >"$folder/stdout"
  : >"$folder/stderr"
  {
    echo "RXE_GUEST=$number RXE_ADDRESS=10.9.0.$number RXE_ADDRESS6=fd09::$number"
    echo "RXE_PEER=10.9.0.$peer RXE_PEER6=fd09::$peer"
    printf 'RXE_KERNEL=%q RXE_MODULES=%q\n' "$version" "$KERNEL/lib/modules/$version"
    echo "RXE_TREES=(${RXE_TREES[*]@Q})"
  } >"$folder/settings"
  if [ "$RXE_ARCH" = arm64 ]; then
    machine=(qemu-system-aarch64 -machine virt -cpu neoverse-n1 -append "console=ttyAMA0 quiet panic=-1")
  else
    # Without pclmulqdq, which is slow to emulate, checksums take a third of the time. no_timer_check: on a busy host the
    # timer's interrupt is late, which the kernel takes for a broken board.
    machine=(qemu-system-x86_64 -cpu "max,-pclmulqdq" -append "console=ttyS0 quiet panic=-1 no_timer_check")
  fi
  for tree in "${!RXE_TREES[@]}"; do
    machine+=(-virtfs "local,path=${RXE_TREES[tree]//,/,,},mount_tag=tree$tree,security_model=none,readonly=on,multidevs=remap")
  done
  if [ "$interfaces" != 1 ]; then
    machine+=(-netdev "$net,id=link" -netdev "hubport,id=hub,hubid=0,netdev=link")
    net=hubport,hubid=0
  fi
  for ((interface = 0; interface < interfaces; interface++)); do
    machine+=(-netdev "$net,id=n$interface"
      -device "virtio-net-pci,netdev=n$interface,mac=52:54:00:00:0$interface:0$number,romfile=")
  done
  setpriv --pdeathsig TERM timeout -k 5 "$limit" setpriv --pdeathsig KILL env -C "$logs" \
    "${machine[@]}" -accel tcg,thread=multi -smp "$cpus" -m "$memory" \
    -display none -monitor none -serial "file:$folder/console" -no-reboot -kernel "$KERNEL/vmlinuz" -initrd "$INITRD" \
    -virtfs "local,path=${RXE_SYSTEM//,/,,},mount_tag=host,security_model=none,readonly=on,multidevs=remap" \
    -virtfs "local,path=$qemu_folder,mount_tag=run,security_model=none,multidevs=remap" \
    -virtfs "local,path=$qemu_logs/shared,mount_tag=shared,security_model=none,multidevs=remap" \
    </dev/null >"$folder/qemu" 2>&1 &
  pids+=($!)
}

# await_boot FOLDER PID: Waits until the guest's command runs; ends a guest that takes too long.
await_boot() {
  local folder=$1 pid=$2 deadline=$((SECONDS + RXE_BOOT_SECONDS))
  while [ ! -e "$folder/up" ] && [ ! -e "$folder/status" ] && kill -0 "$pid" 2>/dev/null; do
    if [ $SECONDS -ge $deadline ]; then
      say "the guest did not come up within $RXE_BOOT_SECONDS s"
      kill "$pid"
      break
    fi
    sleep 0.1
  done
}

# guest_status FOLDER STATUS: Returns the status of the command in a guest whose process ended with STATUS, 124 after
# the timeout, or 125 if the guest did not come up or died.
guest_status() {
  local folder=$1 status=$2
  if [ -s "$folder/status" ]; then return "$(cat "$folder/status")"; fi
  if [ "$status" = 124 ]; then say "the command did not end within the time that --timeout sets"; return 124; fi
  if [ -e "$folder/status" ]; then
    say "the guest could not write its status to $folder: is the disk full?"
  else
    say "the guest died; its console says:"
    {
      tail -n 12 "$folder/qemu"
      grep -a 'Kernel panic\|Out of memory' "$folder/console"
      tail -n 12 "$folder/console"
    } 2>/dev/null | tr -d '\r' >&2
  fi
  return 125
}

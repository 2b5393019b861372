# Packages that both tests under emulation need. Sourced, after setup.sh.

# Installs what is missing of QEMU, a static busybox and cpio, and of the packages that are named as
# COMMAND=PACKAGE; `skip WHY` where one cannot be installed.
install_emulator() {
    local missing=() extra
    command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
    command -v busybox >/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1 || missing+=(busybox-static)
    command -v cpio >/dev/null || missing+=(cpio)
    for extra in "$@"; do command -v "${extra%%=*}" >/dev/null || missing+=("${extra#*=}"); done
    install_packages "${missing[@]}"
}

# Installs packages; `skip WHY` where they cannot be installed.
install_packages() {
    [ $# = 0 ] && return
    command -v apt-get >/dev/null || skip "no $* here, and no apt-get to install it"
    echo "installing $*"
    { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "$@"; } >/dev/null || skip "packages $* cannot be installed"
}

# Sets `qemu` to the words that start an emulator of x86: QEMU 10, which numasim fetches too and
# which takes less time for a guest than 7.2 (a quarter less for conformance). What is installed
# does if it is as new, or if the newer one cannot be fetched.
find_qemu() {
    local root=${NUMASIM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/numasim}/qemu share why
    qemu=(qemu-system-x86_64)
    ! qemu-system-x86_64 --version | grep -qE 'version [1-9][0-9]' || return 0
    if why=$(timeout 300 bash numasim/lab/fetch.sh qemu "$root" 2>&1 >/dev/null); then
        share=$root/root/usr/share
        qemu=("$root/root/usr/bin/qemu-system-x86_64" -L "$share/qemu" -L "$share/seabios" -L /usr/share/seabios)
        ! "${qemu[0]}" --version >/dev/null 2>&1 || return 0
        why="it does not start here"
    fi
    echo "no QEMU 10: ${why##*$'\n'}" >&2
    qemu=(qemu-system-x86_64)
}

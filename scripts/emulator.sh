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

# Sets `qemu` to the words that start an emulator of x86: QEMU 10, which numasim needs and which takes
# a quarter less time for a guest than the release's own; or that one, if it cannot be fetched.
find_qemu() {
    local root=${NUMASIM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/numasim}/qemu share
    qemu=(qemu-system-x86_64)
    bash numasim/lab/fetch.sh qemu "$root" >/dev/null 2>&1 || return 0
    share=$root/root/usr/share
    root=$root/root/usr/bin/qemu-system-x86_64
    ! "$root" --version >/dev/null 2>&1 || qemu=("$root" -L "$share/qemu" -L "$share/seabios" -L /usr/share/seabios)
}

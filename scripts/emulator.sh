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

#!/usr/bin/env bash
# Builds the Debian package isobar_VERSION_ARCHITECTURE.deb of this machine's architecture into
# FOLDER, and prints its path. It needs dpkg-dev (shlibdeps) and runs where it was built or on
# anything newer: unlike the command of scripts/release.sh it uses the machine's own C library, so
# that groups of any user database (LDAP, sssd) count.
#
#   scripts/package.sh [FOLDER]                  dist/ unless another is named
#
# Variables, for tests and for builds elsewhere:
#   ISOBAR_PACKAGE_PROFILE   cargo's profile (dist; `dev` builds fast)
#   ISOBAR_PACKAGE_BUILT     a folder with isobar and its libraries: nothing is built
#   ISOBAR_PACKAGE_VERSION   another version than Cargo.toml's with revision 1
#   SOURCE_DATE_EPOCH        the time of all files; else the last commit's
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-dist}
profile=${ISOBAR_PACKAGE_PROFILE:-dist}
version=${ISOBAR_PACKAGE_VERSION:-$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)-1}
architecture=$(dpkg --print-architecture)
built=${ISOBAR_PACKAGE_BUILT:-}
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH
umask 022

for tool in dpkg-deb dpkg-shlibdeps objcopy; do
    command -v "$tool" >/dev/null ||
        { echo "package: no $tool here: install dpkg-dev and binutils" >&2; exit 1; }
done

libraries=(libisobar_alloc.so)
[ "$architecture" != amd64 ] || libraries+=(libisobar_tracer_plugin.so libisobar_tracer_names.so)

if [ -z "$built" ]; then
    . scripts/setup.sh
    packages=(-p isobar -p isobar-shim)
    [ "$architecture" != amd64 ] || packages+=(-p isobar-tracer-plugin -p isobar-tracer-names)
    # shellcheck disable=SC2046
    cargo build --profile "$profile" --locked $(selected "${packages[@]}") >&2
    built=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
fi
for file in isobar "${libraries[@]}"; do
    [ -e "$built/$file" ] || { echo "package: $built/$file: no such file" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# put FILE PLACE [MODE]: into the package; a folder with all below it.
put() {
    mkdir -p "$root/$(dirname "$2")"
    if [ -d "$1" ]; then cp -r --no-preserve=all "$1" "$root/$2"; else install -m "${3:-0644}" "$1" "$root/$2"; fi
}

put "$built/isobar" usr/bin/isobar 0755
for library in "${libraries[@]}"; do put "$built/$library" "usr/lib/isobar/$library"; done
objcopy --strip-all --remove-section=.comment "$root/usr/bin/isobar"
for library in "${libraries[@]}"; do
    objcopy --strip-unneeded --remove-section=.comment "$root/usr/lib/isobar/$library"
done
isobar=$root/usr/bin/isobar

put packaging/systemd/isobar.service usr/lib/systemd/system/isobar.service
put packaging/sysusers/isobar.conf usr/lib/sysusers.d/isobar.conf
put packaging/prometheus usr/share/isobar/prometheus
put packaging/grafana usr/share/isobar/grafana

# The configuration: every setting, and none of them set, so that an upgrade may change defaults.
mkdir -p "$root/etc/isobar"
{
    cat <<'CONFIG'
# The configuration of `isobar daemon`. Every setting stands here with its meaning and, commented
# out, its default. As it is, the daemon watches and changes nothing; a policy in [manage] has it
# act. `isobar config --check FILE` checks it, `systemctl reload isobar` applies it.

CONFIG
    "$isobar" config --default | sed -n '/^\[manage\]/,$p' | sed 's/^\([a-z_][a-z_0-9]* *= \)/# \1/'
} >"$root/etc/isobar/isobar.toml"
"$isobar" config --check "$root/etc/isobar/isobar.toml" >&2

"$isobar" manual "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*
mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
"$isobar" completions bash >"$root/usr/share/bash-completion/completions/isobar"
"$isobar" completions zsh >"$root/usr/share/zsh/vendor-completions/_isobar"
"$isobar" completions fish >"$root/usr/share/fish/vendor_completions.d/isobar.fish"

# The examples lie where the help names them, from this folder on.
doc=usr/share/doc/isobar
put docs "$doc/book"
put examples "$doc/examples"
put README.md "$doc/README.md"
{
    cat <<'COPYRIGHT'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: isobar
Source: https://github.com/isobar-numa/isobar

Files: *
Copyright: 2026 The isobar developers
License: MIT or Apache-2.0

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

License: MIT
COPYRIGHT
    sed -n '3,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
} >"$root/$doc/copyright"
gzip -9nc CHANGELOG.md >"$root/$doc/changelog.gz"
gzip -9nc >"$root/$doc/changelog.Debian.gz" <<CHANGES
isobar ($version) unstable; urgency=medium

  * Built from its source tree; changelog.gz says what changed.

 -- The isobar developers <maintainers@isobar.invalid>  $(date -Ru -d "@$SOURCE_DATE_EPOCH")
CHANGES

put packaging/debian/lintian-overrides usr/share/lintian/overrides/isobar

# What it needs of the system, by the libraries that it loads.
mkdir -p "$work/debian" "$root/DEBIAN"
printf 'Source: isobar\n\nPackage: isobar\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -eroot/usr/bin/isobar \
    $(printf -- '-eroot/usr/lib/isobar/%s ' "${libraries[@]}") 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
size=$(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)
sed -e "s/@version@/$version/" -e "s/@architecture@/$architecture/" -e "s/@size@/$size/" \
    -e "s/@depends@/${depends:-libc6}/" packaging/debian/control >"$root/DEBIAN/control"
echo /etc/isobar/isobar.toml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 0755 "packaging/debian/$script" "$root/DEBIAN/$script"; done
(cd "$root" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\0' |
    sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 0644 "$root"/DEBIAN/{control,conffiles,md5sums}

mkdir -p "$folder"
deb=$folder/isobar_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >&2
echo "$deb"

#!/bin/bash
# What run.sh runs inside: each step says what must hold. The first that does not ends it.
set -euo pipefail

fail() {
    echo "FAILED: $1" >&2
    journalctl -u isobar --no-pager -n 20 -o cat >&2 || true
    exit 1
}
step() { printf '== %s\n' "$1"; }
# holds WORDS COMMAND...: at once or within 10 s.
holds() {
    local words=$1 try
    shift
    for try in $(seq 50); do
        if "$@" >/test/said 2>&1; then return 0; fi
        sleep 0.2
    done
    cat /test/said >&2
    fail "$words (after $try tries)"
}
# refused WORDS PATTERN COMMAND...: it fails, and says this.
refused() {
    local words=$1 pattern=$2
    shift 2
    if "$@" >/test/said 2>&1; then fail "$words: it was done"; fi
    grep -q -- "$pattern" /test/said || { cat /test/said >&2; fail "$words"; }
}
as() { setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"; }
main_pid() { systemctl show -p MainPID --value isobar; }
cpus() { grep Cpus_allowed_list "/proc/$1/status" | cut -f2; }
cpus_are() { [ "$(cpus "$1")" = "$2" ]; }
says() { isobar status | grep -- "$1" >/dev/null; }
active() { systemctl -q is-active isobar; }
# edit SECTION LINE...: as an administrator would, in place of the commented default.
edit() {
    local section=$1 line
    shift
    for line in "$@"; do
        sed -i "/^\[$section\]/,/^\(# \[\)\?\[[a-z]/ s|^# ${line%% =*} = .*|$line|" /etc/isobar/isobar.toml
        grep -Fx -- "$line" /etc/isobar/isobar.toml >/dev/null || fail "there is no $line to edit in [$section]"
    done
}

useradd -m ann && useradd -m bob
find / -xdev -name '*isobar*' -not -path '/test/*' -not -path '/proc/*' -not -path '/var/cache/man/*' | sort >/test/before

step "installing changes nothing"
dpkg -i /test/isobar_0.1.0-1_*.deb >/test/said 2>&1 || { cat /test/said; fail "dpkg -i"; }
if active || systemctl -q is-enabled isobar; then fail "the service runs or is enabled"; fi
getent group isobar >/dev/null || fail "no group"
usermod -aG isobar ann
isobar config --check /etc/isobar/isobar.toml | grep "no policy" >/dev/null || fail "the default configuration names a policy"
isobar --version
man -w isobar isobar-daemon isobar-pages-apply >/dev/null || fail "no manual pages"
systemd-analyze verify isobar.service 2>&1 | tee /test/said
[ ! -s /test/said ] || fail "systemd-analyze verify"

step "commands find what they need"
isobar doctor >/test/said 2>&1 || [ $? = 1 ] || { cat /test/said; fail "isobar doctor"; }
isobar run --by shim --policy isobar -- cat /proc/self/maps 2>&1 | grep /usr/lib/isobar/libisobar_alloc.so >/dev/null ||
    fail "isobar run does not load its library"
(cd /usr/share/doc/isobar && isobar sim examples/workloads/dino-spec.toml --policy dino >/test/said 2>&1) ||
    { cat /test/said; fail "examples where the help names them"; }

step "the service watches, and changes nothing"
as bob sleep 600 &
holds "a process of bob" pgrep -u bob sleep
subject=$(pgrep -u bob sleep)
free=$(cpus $subject)
last=${free##*[-,]}
systemctl enable -q --now isobar
active || fail "it does not start"
[ "$(stat -c '%a %U %G' /run/isobar/control.sock)" = "660 root isobar" ] || fail "the socket's mode"
[ "$(stat -c '%a %U %G' /var/lib/isobar)" = "750 root isobar" ] || fail "the mode of /var/lib/isobar"
holds "root asks" says "policy linux"
holds "a member asks" as ann isobar status
refused "a member pauses" "only root" as ann isobar pause
refused "bob asks" "ermission denied" as bob isobar status
isobar status | grep "0 changed now" >/dev/null || fail "something is changed"
cpus_are $subject "$free" || fail "it was moved"

step "an edited configuration, reloaded"
edit manage "policy = \"fixed\""
edit manage "only = [\"$subject\"]" "min_cpu_percent = 0" "interval_seconds = 0.2"
edit fixed "threads = \"sleep=$last\""
isobar config --check /etc/isobar/isobar.toml
systemctl reload isobar
holds "it is bound" cpus_are $subject "$last"
edited=$(md5sum /etc/isobar/isobar.toml)

step "killed: put back at once, then started anew"
killed=$(main_pid)
kill -9 "$killed"
anew() { active && [ "$(main_pid)" != "$killed" ] && cpus_are $subject "$last"; }
holds "started anew" anew
journalctl -u isobar -o cat --no-pager | grep "1 threads put back" >/dev/null || fail "ExecStopPost put nothing back"

step "hung: ended by the watchdog, put back, started anew"
mkdir -p /run/systemd/system/isobar.service.d
printf '[Service]\nWatchdogSec=2\nEnvironment=ISOBAR_TEST_HANG_AT_EPOCH=5\n' >/run/systemd/system/isobar.service.d/hang.conf
cp -p /etc/isobar/isobar.toml /test/good.toml
edit manage "stop_seconds = 1"
systemctl daemon-reload
systemctl reset-failed isobar
systemctl restart isobar
hung=$(main_pid)
timed_out() { journalctl _PID=1 -u isobar -o cat --no-pager | grep "Failed with result 'watchdog'" >/dev/null; }
holds "the watchdog ends it" timed_out
rm -r /run/systemd/system/isobar.service.d
systemctl daemon-reload
systemctl reset-failed isobar || true
systemctl restart isobar
active && [ "$(main_pid)" != "$hung" ] || fail "it is not started anew"
cp -p /test/good.toml /etc/isobar/isobar.toml

step "a file system mounted later (resctrl) is seen, and can be written"
if [ -d /sys/fs/ext4 ]; then
    mkdir -p /run/systemd/system/isobar.service.d
    printf '[Service]\nReadWritePaths=-/sys/fs/ext4\n' >/run/systemd/system/isobar.service.d/mount.conf
    systemctl daemon-reload
    systemctl restart isobar
    mount -t tmpfs later /sys/fs/ext4
    grep -q ' /sys/fs/ext4 rw.* later ' "/proc/$(main_pid)/mountinfo" || fail "what is mounted later"
    umount /sys/fs/ext4
    if grep -q ' later ' "/proc/$(main_pid)/mountinfo"; then fail "what is unmounted stays"; fi
    rm -r /run/systemd/system/isobar.service.d
    systemctl daemon-reload
    systemctl restart isobar
fi

step "an upgrade with a bad configuration leaves the running service alone"
sed -i 's/^policy = .*/polcy = "fixed"/' /etc/isobar/isobar.toml
running=$(main_pid)
dpkg -i /test/isobar_0.1.0-2_*.deb >/test/said 2>&1 || { cat /test/said; fail "dpkg -i"; }
grep -q "unknown field .polcy" /test/said && grep -q "mend it" /test/said || { cat /test/said; fail "the mistake is not named"; }
[ "$(main_pid)" = "$running" ] || fail "it was restarted"
cp -p /test/good.toml /etc/isobar/isobar.toml

step "an upgrade keeps the configuration and restarts the service"
dpkg -i /test/isobar_0.1.0-1_*.deb >/dev/null 2>&1
running=$(main_pid)
dpkg -i /test/isobar_0.1.0-2_*.deb >/test/said 2>&1 || { cat /test/said; fail "dpkg -i"; }
[ "$(main_pid)" != "$running" ] && active || fail "it was not restarted"
systemctl -q is-enabled isobar || fail "it is not enabled any more"
[ "$(md5sum /etc/isobar/isobar.toml)" = "$edited" ] || fail "the configuration is another one"
holds "it is bound" cpus_are $subject "$last"

step "a removal puts everything back, and keeps the configuration"
dpkg -r isobar >/test/said 2>&1 || { cat /test/said; fail "dpkg -r"; }
if active; then fail "it still runs"; fi
cpus_are $subject "$free" || fail "the process is still bound"
[ -e /etc/isobar/isobar.toml ] && [ ! -e /usr/bin/isobar ] || fail "the configuration is gone, or the command is not"

step "a purge leaves nothing"
touch /var/lib/isobar/isobar-1.isobar
dpkg -P isobar >/test/said 2>&1 || { cat /test/said; fail "dpkg -P"; }
find / -xdev -name '*isobar*' -not -path '/test/*' -not -path '/proc/*' -not -path '/var/cache/man/*' | sort >/test/after
diff /test/before /test/after || fail "files are left"
[ ! -e /run/isobar ] || fail "/run/isobar is left"
kill $subject
echo "== all passed"

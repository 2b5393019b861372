//! Which users may count which events: every level of `kernel.perf_event_paranoid` that Debian has,
//! without and with `CAP_PERFMON`, compared with the kernel's rules
//! (`Documentation/admin-guide/perf-security.rst`; level 3 is Debian's own). Instructions are the
//! program's own at every level; cycles include the kernel's where that is permitted.

use super::reported::{self, sum, within};
use crate::isobar::Manage;
use crate::suite::Suite;
use crate::worker::Worker;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
const USER: &str = "1000";
const NONE: &str = "0";
/// Bit 21 of `linux/capability.h`.
const SYS_ADMIN: &str = "200000";
/// Bit 38 of `linux/capability.h`.
const PERFMON: &str = "4000000000";
/// Number of system calls of the user's program. Each takes 4 instructions of the program, and some
/// hundreds of the kernel, of a cycle or more each.
const CALLS: u64 = 50_000;

/// What a user may count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum May {
    Nothing,
    OwnInUserMode,
    Own,
    All,
}

pub fn checks(suite: &mut Suite) {
    let cases = [
        ("-1", NONE, May::Own, "paranoid -1: a user counts own threads, the kernel's work included"),
        ("0", NONE, May::Own, "paranoid 0: a user counts own threads, the kernel's work included"),
        ("1", NONE, May::Own, "paranoid 1: a user counts own threads, the kernel's work included"),
        ("2", NONE, May::OwnInUserMode, "paranoid 2: a user counts own threads in user mode, and a message says so"),
        ("3", NONE, May::Nothing, "paranoid 3: a user counts nothing, and a message says what is missing"),
        ("2", PERFMON, May::All, "paranoid 2 with CAP_PERFMON: all threads, the kernel's work included"),
        (
            "3",
            PERFMON,
            May::Nothing,
            "paranoid 3 with CAP_PERFMON: nothing, and a message says what Debian's kernel wants",
        ),
        ("3", SYS_ADMIN, May::All, "paranoid 3 with CAP_SYS_ADMIN: all threads, the kernel's work included"),
    ];
    let before = fs::read_to_string(PARANOID);
    for (level, capabilities, may, name) in cases {
        suite.check(&format!("counters: {name}"), || counted(level, capabilities, may));
    }
    if let Ok(level) = before {
        let _ = fs::write(PARANOID, level);
    }
}

fn counted(level: &str, capabilities: &str, may: May) -> Result<()> {
    fs::write(PARANOID, level).with_context(|| format!("{PARANOID}: {level}"))?;
    let (mut own, mut other) = (Worker::start_as(USER.parse()?, 1)?, Worker::start(1)?);
    let (mine, theirs) = (own.tids()[0], other.tids()[0]);
    // A tenth of the CPU, which is enough to be counted.
    other.order("work 0 2500000 10000 45")?;
    let mut manage = reported::watch_as(USER, capabilities, "0.2")?;
    let watched: &[u32] = match may {
        May::Nothing => &[],
        May::OwnInUserMode | May::Own => &[mine],
        May::All => &[mine, theirs],
    };
    reported::until_counted(&mut manage, watched)?;
    own.order(&format!("calls 0 {CALLS}"))?;
    own.finish()?;
    manage.epochs(3)?;
    judge(&manage.reported()?, (mine, theirs), (level, capabilities), may).map_err(|error| last_words(error, &manage))
}

fn last_words(error: anyhow::Error, manage: &Manage) -> anyhow::Error {
    let reported = manage.reported().unwrap_or_default();
    let heads: Vec<_> = reported.iter().map(|epoch| format!("{} {}", epoch["missing"], epoch["remarks"])).collect();
    error.context(heads.join("; ").chars().take(800).collect::<String>())
}

fn judge(reported: &[Value], (mine, theirs): (u32, u32), (level, has): (&str, &str), may: May) -> Result<()> {
    let (own, others) = (sum(reported, mine, "instructions"), sum(reported, theirs, "instructions"));
    ensure!((others > 0) == (may == May::All), "instructions of another user's thread: {others}");
    let cycles = sum(reported, mine, "cycles");
    if may == May::Nothing {
        ensure!(own == 0 && cycles == 0, "without permission {own} instructions, {cycles} cycles");
    } else {
        within("the program's own instructions", own, 4 * CALLS, 2)?;
        let of_kernel = cycles > 20 * CALLS;
        ensure!(of_kernel == (may != May::OwnInUserMode), "cycles of system calls: {cycles}");
    }
    let reason = reported::reason(reported, "instructions");
    let lacks =
        if has == NONE { " and CAP_PERFMON is missing" } else { ", where the kernels of Debian and Ubuntu demand" };
    let forbidden = format!("not permitted: kernel.perf_event_paranoid is {level}{lacks}");
    ensure!(
        if may == May::Nothing { reason.is_some_and(|r| r.starts_with(&forbidden)) } else { reason.is_none() },
        "why instructions are not measured: {reason:?}"
    );
    let says = |words| reported::remark(reported, words).is_some();
    let expect = |words, expected: bool| {
        ensure!(says(words) == expected, "`{words}` is reported: {}, expected: {expected}", says(words));
        Ok(())
    };
    expect("counted in user mode only; CAP_PERFMON would add kernel mode", may == May::OwnInUserMode)?;
    expect("busy threads of other users; grant it CAP_PERFMON", matches!(may, May::Own | May::OwnInUserMode))
}

//! Runs a command whose pages are traced: starts it, watches it to its end, and reads where its
//! pages are just before it ends. The kernel stops the command there (`PTRACE_O_TRACEEXIT`,
//! ptrace(2)), with its address space still complete. Only the command itself is watched, not the
//! processes that it starts.

use anyhow::Context;
use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use numasim_guest::wire::Pages;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

/// Bits of an entry of `/proc/PID/pagemap` (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;
const PAGE: u64 = 4096;
/// Number of entries that are read at a time.
const ENTRIES: u64 = 4096;

/// How a command ended, as a shell's status, and its pages.
pub struct Ended {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// Its pages; `None` if it was over before it could be watched.
    pub pages: Option<Pages>,
}

/// Runs a command to its end.
///
/// # Errors
/// The command cannot be started or watched.
#[allow(clippy::zombie_processes, reason = "its end is waited for below, with that of its stops")]
pub fn run(command: &mut Command) -> anyhow::Result<Ended> {
    let child = command.spawn().context("the command")?;
    let pid = Pid::from_raw(i32::try_from(child.id()).context("a process id")?);
    let watched = ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT).context("PTRACE_SEIZE");
    let mut pages = None;
    loop {
        // Stops are passed on, because they are not meant for the director. A process that is gone
        // has none.
        match waitpid(pid, None).context("waitpid")? {
            WaitStatus::Exited(_, status) => return watched.map(|()| ended(Some(status), pages)),
            WaitStatus::Signaled(..) => return watched.map(|()| ended(None, pages)),
            WaitStatus::PtraceEvent(_, _, event) => {
                if event == ptrace::Event::PTRACE_EVENT_EXIT as i32 {
                    pages = Some(read(pid)?);
                }
                let _ = ptrace::cont(pid, None);
            }
            WaitStatus::Stopped(_, signal) => drop(ptrace::cont(pid, signal)),
            _ => {}
        }
    }
}

fn ended(status: Option<i32>, pages: Option<Pages>) -> Ended {
    Ended { status, pages: pages.map(|pages| Pages { status, ..pages }) }
}

fn read(pid: Pid) -> anyhow::Result<Pages> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).context("maps")?;
    let pagemap = File::open(format!("/proc/{pid}/pagemap")).context("pagemap")?;
    let mut frames = Vec::new();
    for (start, end) in ranges(&maps) {
        let mut page = start;
        while page < end {
            let count = (end - page).min(ENTRIES);
            let mut bytes = vec![0; usize::try_from(count * 8)?];
            // Mappings above the user's addresses have no entries.
            let read = pagemap.read_at(&mut bytes, page * 8).unwrap_or(0);
            frames.extend((page..).zip(bytes[..read].chunks_exact(8)).filter_map(|(page, entry)| {
                let entry = u64::from_le_bytes(entry.try_into().ok()?);
                (entry & PRESENT != 0).then_some((page, entry & FRAME))
            }));
            page += count;
        }
    }
    Ok(Pages { status: None, maps, frames })
}

/// First page of each mapping, and the page after its last.
fn ranges(maps: &str) -> Vec<(u64, u64)> {
    let one = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let page = |text| u64::from_str_radix(text, 16).ok().map(|address| address / PAGE);
        Some((page(start)?, page(end)?))
    };
    maps.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_ranges_of_pages() {
        let maps = "00400000-00402000 r-xp 00000000 00:02 9 /bin/chase\n7ffd0000-7ffd1000 rw-p 0 0:0 0 [stack]\nx\n";
        assert_eq!(ranges(maps), [(0x400, 0x402), (0x7_ffd0, 0x7_ffd1)]);
    }

    /// Ends once it is traced, or after some hundreds of checks if it may not be traced. A command
    /// that is over sooner has no pages to show.
    const WATCHED: &str = "for i in $(seq 300); do
        grep -q 'TracerPid:.*[1-9]' /proc/$$/status && break
    done
    exit 7";

    /// Only privileged processes see frame numbers; that pages are present is visible to all.
    #[test]
    fn a_command_is_asked_before_it_ends() {
        match run(Command::new("sh").args(["-c", WATCHED])) {
            Ok(ended) => {
                let pages = ended.pages.unwrap();
                assert!(ended.status == Some(7) && pages.maps.contains("[stack]"), "{}", pages.maps);
                assert!(pages.frames.len() > 10 && pages.frames.is_sorted(), "{}", pages.frames.len());
            }
            Err(why) => eprintln!("SKIPPED: {why:#}"),
        }
    }
}

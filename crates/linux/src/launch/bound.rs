//! Starts a helper program of isobar that ends with isobar and gets no more rights than isobar
//! itself got.

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{clear_ambient_capability_set, set_no_new_privs};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Binds a command to the thread that starts it: its process
///
/// - leads a process group of its own, so that it can be ended with all that it starts, and a
///   Ctrl-C of the terminal reaches it only through isobar;
/// - is killed when that thread ends, however it ends (`PR_SET_PDEATHSIG`, prctl(2));
/// - gains no rights by execve(2): no set-user-id, no file capabilities (`no_new_privs`), and none
///   of our ambient capabilities.
pub fn bound(command: &mut Command) -> &mut Command {
    let us = getpid();
    let ready = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Our process may have ended before the kernel knew of that setting.
        if getppid() != Some(us) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        set_no_new_privs(true)?;
        // A kernel without ambient capabilities has none to clear.
        let _ = clear_ambient_capability_set();
        Ok(())
    };
    command.process_group(0);
    // SAFETY: what runs between fork(2) and execve(2) is system calls only: it allocates no memory
    // and takes no lock.
    unsafe { command.pre_exec(ready) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Stdio;

    #[test]
    fn what_is_bound_leads_its_group_has_no_new_rights_and_ends_with_its_starter() {
        let started = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            let child = bound(command.arg("60").stdin(Stdio::null())).spawn().unwrap();
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            assert!(status.contains("NoNewPrivs:\t1"), "{status}");
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            let group: u32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(2).unwrap().parse().unwrap();
            assert_eq!(group, child.id());
            child
        });
        let mut child = started.join().unwrap();
        // The thread that started the child has ended.
        assert!(!child.wait().unwrap().success());
    }
}

//! Finds which thread a caller meant: the ids that a process uses are those of its pid namespace
//! (`pid_namespaces(7)`). Ids of another namespace must not be taken for ours. Otherwise any user
//! who makes a namespace could claim any thread.

use crate::kernel::identity;
use crate::kernel_events::Pin;
use isobar_model::{Pid, Tid};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Which process started which lately, for callers that have ended.
#[derive(Debug, Default)]
pub struct Makers {
    now: BTreeMap<Pid, Pid>,
    before: BTreeMap<Pid, Pid>,
}

impl Makers {
    /// Notes that a process made another.
    pub fn note(&mut self, parent: Pid, child: Pid) {
        self.now.insert(child, parent);
    }

    /// Forgets what was noted before the last call.
    pub fn age(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// The thread whose affinity was changed, by our ids; `None` if that cannot be known.
    pub fn target(&self, pin: &Pin) -> Option<Tid> {
        if pin.argument == 0 {
            return Some(pin.by_thread);
        }
        if self.namespace(pin.by)? == own_namespace()? {
            return Some(Tid(pin.argument));
        }
        // A thread of a container that changes itself, by its own id there.
        (id_within(pin)? == pin.argument).then_some(pin.by_thread)
    }

    /// The namespace of a process; if the process has ended, that of the process that made it.
    fn namespace(&self, pid: Pid) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{pid}/ns/pid")).ok().or_else(|| {
            let parent = self.now.get(&pid).or_else(|| self.before.get(&pid))?;
            fs::read_link(format!("/proc/{parent}/ns/pid_for_children")).ok()
        })
    }
}

fn own_namespace() -> Option<PathBuf> {
    fs::read_link("/proc/self/ns/pid").ok()
}

/// The id that the calling thread has in its own namespace: the last of `NSpid`
/// (`proc_pid_status(5)`).
fn id_within(pin: &Pin) -> Option<u32> {
    let path = PathBuf::from(format!("/proc/{}/task/{}/status", pin.by, pin.by_thread));
    let status = identity::read_live(&path).ok()??;
    let status = String::from_utf8_lossy(&status);
    status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn pin(by: u32, argument: u32) -> Pin {
        Pin { time: 1, by: Pid(by), by_thread: Tid(by), argument }
    }

    #[test]
    fn ids_of_our_namespace_are_ours() {
        let own = std::process::id();
        assert_eq!(Makers::default().target(&pin(own, 77)), Some(Tid(77)));
        assert_eq!(Makers::default().target(&pin(own, 0)), Some(Tid(own)));
    }

    #[test]
    fn who_has_ended_counts_by_its_maker_for_a_while() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut makers = Makers::default();
        assert_eq!(makers.target(&pin(child.id(), 77)), None, "it could have been anywhere");
        makers.note(Pid(std::process::id()), Pid(child.id()));
        assert_eq!(makers.target(&pin(child.id(), 77)), Some(Tid(77)));
        makers.age();
        assert_eq!(makers.target(&pin(child.id(), 77)), Some(Tid(77)));
        makers.age();
        assert_eq!(makers.target(&pin(child.id(), 77)), None);
    }

    #[test]
    fn ids_of_another_namespace_are_not_ours() {
        let script = "exec sleep 20";
        let mut child = Command::new("unshare").args(["-Ufp", "--kill-child", "sh", "-c", script]).spawn().unwrap();
        let inside = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            let children = format!("/proc/{0}/task/{0}/children", child.id());
            fs::read_to_string(children).ok()?.split_whitespace().next()?.parse::<u32>().ok()
        });
        match inside {
            None => eprintln!("SKIPPED: no pid namespace can be made here"),
            Some(inside) => {
                let makers = Makers::default();
                assert_eq!(makers.target(&pin(inside, std::process::id())), None, "not the thread with that id here");
                assert_eq!(makers.target(&pin(inside, 1)), Some(Tid(inside)), "its own id there");
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

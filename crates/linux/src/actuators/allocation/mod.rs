//! Controls where new pages go: writes the decisions of a plan to the pages of programs that were
//! started by `isobar run`.
//!
//! A program names its page in its environment. No process gains power by that: only memory that is
//! sealed, of the right size, and owned by the user of the process is ever written, and all that
//! can be written for a process is a node. A process of another user is written to only if the
//! kernel lets us read its environment.

mod merge;

use crate::kernel::identity;
use crate::kernel::shared_page::SharedPage;
use isobar_allocation::{Decision, MAX_PROCESSES, PAGE, Way, place};
use isobar_model::{ActionOutcome, NodeId, NodeWeight, Pid};
use merge::Rows;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// The programs to which a decision was written.
#[derive(Debug, Default)]
pub struct Allocation {
    known: BTreeMap<Pid, Registered>,
}

#[derive(Debug)]
struct Registered {
    start: u64,
    path: String,
    page: SharedPage,
    rows: Rows,
}

/// A page, and the decision to be written for each process.
type Page<'a> = (&'a SharedPage, Vec<(u32, Decision)>);

/// What an action requests.
#[derive(Clone, Copy, Debug)]
pub struct AllocationRequest<'a> {
    /// The process.
    pub pid: Pid,
    /// Its start time.
    pub start: u64,
    /// The node of the threads that it is for; `None`: all threads.
    pub for_node: Option<NodeId>,
    /// The node for new pages.
    pub node: NodeId,
    /// The weights, if pages are spread.
    pub weights: &'a [NodeWeight],
}

impl Allocation {
    /// Accepts a wish; [`Allocation::flush`] passes it on.
    pub fn wish(&mut self, wish: &AllocationRequest<'_>) -> ActionOutcome {
        let Some(decision) = merge::decision(wish.node, wish.weights) else {
            return refused("a decision can name nodes 0 to 63 only");
        };
        if self.known.get(&wish.pid).is_none_or(|program| program.start != wish.start) {
            match registered(wish.pid, wish.start) {
                Ok(program) => drop(self.known.insert(wish.pid, program)),
                Err(outcome) => return outcome,
            }
        }
        let Some(program) = self.known.get_mut(&wish.pid) else { return ActionOutcome::Vanished };
        if wish.for_node.is_none() {
            program.rows.clear();
        }
        program.rows.insert(wish.for_node, decision);
        ActionOutcome::Done
    }

    /// Forgets a wish, as if it had never been accepted, and returns whether there was one. As with
    /// [`Allocation::wish`], programs see it after [`Allocation::flush`].
    pub fn forget(&mut self, pid: Pid, for_node: Option<NodeId>) -> bool {
        let Some(told) = self.known.get_mut(&pid) else { return false };
        let had = told.rows.remove(&for_node).is_some();
        if told.rows.is_empty()
            && let Some(told) = self.known.remove(&pid)
            && self.known.values().all(|other| other.path != told.path)
        {
            told.page.say(Decision::Free);
        }
        had
    }

    /// Writes every program's wishes so far to its page, given the nodes on which its threads are.
    /// Several processes may share a page.
    pub fn flush(&self, threads: impl Fn(Pid) -> BTreeMap<NodeId, u8>) {
        let mut pages: BTreeMap<&str, Page<'_>> = BTreeMap::new();
        for (pid, program) in &self.known {
            let (_, decisions) = pages.entry(&program.path).or_insert_with(|| (&program.page, Vec::new()));
            decisions.push((pid.0, merge::merged(&program.rows, &threads(*pid))));
        }
        for (page, mut decisions) in pages.into_values() {
            // Children too young to have been seen follow the first process.
            if let Some((_, first)) = decisions.first().copied() {
                decisions.insert(0, (0, first));
            }
            decisions.truncate(MAX_PROCESSES);
            page.page().write(&decisions);
        }
    }

    /// Forgets processes that have ended. A page whose last process is forgotten is set back to no
    /// decision, because children that are started later share it.
    pub fn retain(&mut self, lives: impl Fn(Pid, u64) -> bool) {
        let ended: Vec<Pid> =
            self.known.iter().filter(|(pid, program)| !lives(**pid, program.start)).map(|(pid, _)| *pid).collect();
        let ended: Vec<Registered> = ended.iter().filter_map(|pid| self.known.remove(pid)).collect();
        let last = |program: &&Registered| self.known.values().all(|other| other.path != program.path);
        ended.iter().filter(last).for_each(|program| program.page.say(Decision::Free));
    }

    /// Makes new pages go where they would without isobar.
    pub fn release(&mut self) {
        self.known.values().for_each(|program| program.page.say(Decision::Free));
        self.known.clear();
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.release();
    }
}

/// The page of a process.
fn registered(pid: Pid, start: u64) -> Result<Registered, ActionOutcome> {
    let root = format!("/proc/{pid}");
    let Ok(environment) = fs::read(format!("{root}/environ")) else {
        return Err(if identity::process(pid).is_none() {
            ActionOutcome::Vanished
        } else {
            refused("its environment cannot be read: the process belongs to another user")
        });
    };
    let value = environment.split(|byte| *byte == 0).find_map(|entry| {
        let value = std::str::from_utf8(entry).ok()?.strip_prefix(PAGE)?.strip_prefix('=')?;
        place(value).map(|_| value.to_owned())
    });
    let Some(path) = value else {
        let why =
            "on Linux no process can set the memory policy of another: start the program with `isobar run`".to_owned();
        return Err(ActionOutcome::LeftAlone { why });
    };
    let owner = fs::metadata(&root).map_err(|_| ActionOutcome::Vanished)?.uid();
    let opened = SharedPage::open(&path, owner);
    let page = opened.map_err(|errno| refused(&format!("its shared page {path} cannot be opened: {errno}")))?;
    // The id may have been reused meanwhile.
    if identity::process(pid).is_none_or(|found| found.start != start) {
        return Err(ActionOutcome::Vanished);
    }
    match page.page().way() {
        Ok(Way::File) => Err(ActionOutcome::LeftAlone {
            why: "it was started with `isobar run --decision` and follows that file".to_owned(),
        }),
        Ok(Way::Shim) => Ok(Registered { start, path, page, rows: Rows::new() }),
        _ => Err(ActionOutcome::LeftAlone {
            why: "it follows the machine's interleave weights, not a manager".to_owned(),
        }),
    }
}

fn refused(why: &str) -> ActionOutcome {
    ActionOutcome::Refused { errno: None, why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    fn child(page: Option<&SharedPage>) -> (Child, Pid, u64) {
        let mut command = Command::new("sleep");
        command.arg("30").env_remove(PAGE).envs(page.map(|page| (PAGE, page.path())));
        let child = command.spawn().unwrap();
        let pid = Pid(child.id());
        // The child has its own environment once it runs its own program.
        let until = Instant::now() + Duration::from_secs(20);
        let own = |text: &[u8]| text.windows(PAGE.len()).any(|part| part == PAGE.as_bytes()) == page.is_some();
        let runs = || {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            identity::name(pid) == "sleep" && !environment.is_empty() && own(&environment)
        };
        while !runs() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let start = identity::process(pid).unwrap().start;
        (child, pid, start)
    }

    #[test]
    fn what_was_started_by_us_is_informed_and_others_are_left_alone() {
        let page = SharedPage::create(Way::Shim).unwrap();
        let (mut ours, pid, start) = child(Some(&page));
        let (mut other, stranger, stranger_start) = child(None);
        let mut allocation = Allocation::default();
        let wish = |pid, start| AllocationRequest { pid, start, for_node: None, node: NodeId(2), weights: &[] };
        assert_eq!(allocation.wish(&wish(pid, start)), ActionOutcome::Done);
        assert_eq!(allocation.wish(&wish(pid, start + 1)), ActionOutcome::Vanished, "an id that was reused");
        assert_eq!(allocation.wish(&wish(pid, start)), ActionOutcome::Done);
        let left = allocation.wish(&wish(stranger, stranger_start));
        assert!(matches!(&left, ActionOutcome::LeftAlone { why } if why.contains("isobar run")), "{left:?}");
        allocation.flush(|_| BTreeMap::new());
        assert_eq!(page.page().read(pid.0).unwrap().decision, Decision::Node(2));
        assert!(!allocation.forget(pid, Some(NodeId(1))) && allocation.forget(pid, None));
        allocation.flush(|_| BTreeMap::new());
        assert_eq!(page.page().read(pid.0).unwrap().decision, Decision::Free, "one wish taken back");
        assert_eq!(allocation.wish(&wish(pid, start)), ActionOutcome::Done);
        allocation.flush(|_| BTreeMap::new());
        drop(allocation);
        assert_eq!(page.page().read(pid.0).unwrap().decision, Decision::Free, "put back");
        [&mut ours, &mut other].into_iter().for_each(|child| {
            child.kill().unwrap();
            child.wait().unwrap();
        });
    }
}

//! Every rule of the kernel that the double repeats, one row each: what is written, the answer, and
//! what `last_cmd_status` shows then. The rows come from Documentation/filesystems/resctrl.rst and
//! fs/resctrl, and they name the function. No real task is needed for them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod cpus;
mod groups;
mod hardware;
mod info;
mod laws;
mod modes;
mod monitor;
mod schemata;
mod tasks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use isobar_resctrl_double::{Errno, Machine, Node, Resctrl, Task};

/// Tasks that tests invent.
#[derive(Clone, Default)]
struct Invented(Arc<Mutex<BTreeMap<u32, Task>>>);

impl Invented {
    /// A single-threaded process.
    fn process(&self, tid: u32, parent: u32) {
        self.thread(tid, tid, parent);
    }

    /// A thread of a process; all of them start in the order in which they are named.
    fn thread(&self, tid: u32, leader: u32, parent: u32) {
        let mut tasks = self.0.lock().unwrap();
        let started = tasks.values().map(|task| task.started).max().unwrap_or(0) + 1;
        tasks.insert(tid, Task { leader, parent, started });
    }

    fn exit(&self, tid: u32) {
        self.0.lock().unwrap().remove(&tid);
    }

    fn all(&self) -> BTreeMap<u32, Task> {
        self.0.lock().unwrap().clone()
    }
}

/// The task that writes.
const CALLER: u32 = 12;

/// A double with its tasks: init (1), and its children 10, 11 and 12.
struct Double {
    state: Resctrl,
    tasks: Invented,
}

impl Double {
    fn of(machine: Machine) -> Self {
        let tasks = Invented::default();
        tasks.process(1, 0);
        [10, 11, CALLER].into_iter().for_each(|tid| tasks.process(tid, 1));
        let seen = tasks.clone();
        Self { state: Resctrl::new(machine, Box::new(move || seen.all())), tasks }
    }

    /// A double with two domains, 0 and 3, and bandwidth.
    fn usual() -> Self {
        Self::of(Machine { bandwidth: true, ..Machine::with_domains([0, 3]) })
    }

    /// The same, with groups `a` and `b`, and a monitor group `m` in `a`.
    fn with_groups() -> Self {
        let mut double = Self::usual();
        ["a", "b", "a/mon_groups/m"].into_iter().for_each(|path| assert_eq!(double.mkdir(path), Ok(())));
        double
    }

    fn node(&self, path: &str) -> Node {
        self.state.at(path).unwrap_or_else(|| panic!("no {path}"))
    }

    fn read(&mut self, path: &str) -> String {
        let node = self.node(path);
        self.state.read(node).unwrap()
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        let node = self.node(path);
        self.state.write(node, text.as_bytes(), CALLER)
    }

    /// A write that must succeed.
    fn set(&mut self, path: &str, text: &str) {
        assert_eq!(self.write(path, text), Ok(()), "{path}: {text:?}: {}", self.status());
    }

    fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        let (folder, name) = self.split(path);
        self.state.mkdir(folder, &name).map(|_| ())
    }

    fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        let (folder, name) = self.split(path);
        self.state.rmdir(folder, &name)
    }

    fn status(&mut self) -> String {
        self.read("info/last_cmd_status")
    }

    /// Asserts what an operation answered and what the status says.
    fn expect(&mut self, what: &str, answer: Result<(), Errno>, expected: Result<(), Errno>, status: &str) {
        assert_eq!((answer, self.status().as_str()), (expected, format!("{status}\n").as_str()), "{what}");
    }

    fn split(&self, path: &str) -> (Node, String) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.node(folder), name.to_owned())
    }
}

//! Reports what happened between two samples: which task made which, and which thread changed the
//! affinity of which. There are two sources, each with its own privilege, and the kernel's clock
//! puts their events in one order. A missing source is not an error; the reason, and whether events
//! were dropped, is kept for reports. This module decides nothing, and never waits.

mod fork_wire;
mod forks;
mod pin_records;
mod pins;
mod symbols;
mod tracefs;

pub use fork_wire::Fork;
pub use pin_records::Pin;

use crate::kernel::clock;
use forks::Forks;
use isobar_model::CpuSet;
use pins::Pins;
use rustix::time::ClockId;

const SWITCHED_OFF: &str = "changes of affinity are not watched (manage.watch_affinities = false)";

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task made another.
    Fork(Fork),
    /// A thread's affinity was set.
    Pin(Pin),
}

impl Event {
    /// When it happened, on `CLOCK_MONOTONIC`, in nanoseconds.
    #[must_use]
    pub const fn time(&self) -> u64 {
        match self {
            Self::Fork(fork) => fork.time,
            Self::Pin(pin) => pin.time,
        }
    }
}

/// The sources.
#[derive(Debug)]
pub struct KernelEvents {
    forks: Result<Forks, String>,
    pins: Result<Pins, String>,
    forks_lost: bool,
    pins_lost: bool,
    /// Forks that are younger than the last reading.
    later: Vec<Fork>,
}

impl KernelEvents {
    /// Opens the sources that this process may open; affinities are watched on these CPUs, if
    /// requested.
    #[must_use]
    pub fn open(online: &CpuSet, watch_affinities: bool) -> Self {
        let pins = if watch_affinities { Pins::open(online) } else { Err(SWITCHED_OFF.to_owned()) };
        Self { forks: Forks::open(), pins, ..Self::none("") }
    }

    /// No source, for this reason.
    #[must_use]
    pub fn none(why: &str) -> Self {
        let (forks, pins) = (Err(why.to_owned()), Err(why.to_owned()));
        Self { forks, pins, forks_lost: false, pins_lost: false, later: Vec::new() }
    }

    /// What happened since the last call, in order. The sources are read one after the other, so
    /// events that happen meanwhile are kept for the next call. That way no event is reported
    /// before its cause.
    pub fn drain(&mut self) -> Vec<Event> {
        let until = now();
        let mut forks = std::mem::take(&mut self.later);
        if let Ok(source) = &self.forks {
            self.forks_lost |= source.drain(&mut forks);
        }
        (forks, self.later) = forks.into_iter().partition(|fork| fork.time <= until);
        let (pins, lost) = self.pins.as_mut().map_or_else(|_| (Vec::new(), false), |pins| pins.drain(until));
        self.pins_lost |= lost;
        let forks = forks.into_iter().map(Event::Fork);
        let mut events: Vec<Event> = forks.chain(pins.into_iter().map(Event::Pin)).collect();
        events.sort_by_key(Event::time);
        events
    }

    /// Watches affinities on these CPUs from now on, if the set has changed.
    pub fn follow_hotplug(&mut self, online: &CpuSet) {
        if self.pins.as_ref().is_ok_and(|pins| pins.cpus() != online) {
            // Changes were missed while nothing was watched.
            self.pins_lost = true;
            reopen(&mut self.pins, || Pins::open(online));
        }
    }

    /// Whether every fork since the beginning was reported.
    #[must_use]
    pub const fn forks_complete(&self) -> bool {
        self.forks.is_ok() && !self.forks_lost
    }

    /// Whether every change of an affinity since the beginning was reported.
    #[must_use]
    pub const fn pins_complete(&self) -> bool {
        self.pins.is_ok() && !self.pins_lost
    }

    /// What is not reported and the consequence, a line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let forks = self.forks.as_ref().err().map(|why| {
            format!(
                "{why}: isobar recognises processes that inherited its CPU bindings only by their parents, CPUs, \
                 cgroups and start times; it reports processes that it may have missed"
            )
        });
        let lost = self.forks_lost.then(|| {
            "the kernel dropped process events because processes were forked faster than isobar reads; isobar reports \
             processes that it may have missed"
                .to_owned()
        });
        let pins = self.pins.as_ref().err().map(|why| {
            format!(
                "{why}: if an owner binds a thread to the same CPU as isobar did, isobar cannot see that and removes \
                 that binding, too"
            )
        });
        let unseen = self.pins_lost.then(|| {
            "the kernel dropped records of changed affinities: isobar may have mistaken an owner's binding for its own \
             and removed it"
                .to_owned()
        });
        let slow = self.pins.as_ref().is_ok_and(Pins::slows_system_calls).then(|| {
            "this kernel has no kprobes, so changes of affinity are watched by tracepoints, which cost every system \
             call on this machine about 0.1 us (manage.watch_affinities = false avoids this)"
                .to_owned()
        });
        forks.into_iter().chain(lost).chain(pins).chain(unseen).chain(slow).collect()
    }
}

/// Closes a source, and only then opens it anew: a CPU may not have enough debug registers for
/// both.
fn reopen<T>(source: &mut Result<T, String>, open: impl FnOnce() -> Result<T, String>) {
    *source = Err(String::new());
    *source = open();
}

/// The clock of events: `CLOCK_MONOTONIC`, in nanoseconds.
#[must_use]
pub fn now() -> u64 {
    u64::try_from(clock::now(ClockId::Monotonic).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::affinity;
    use isobar_model::{Pid, Tid};
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    /// The open events and our own pid; `None` if the source to be tested is missing.
    fn open(hears: fn(&KernelEvents) -> bool) -> Option<(KernelEvents, Pid)> {
        let own = Pid(std::process::id());
        let events = KernelEvents::open(&affinity::get(Tid(own.0)).unwrap(), true);
        if !hears(&events) {
            eprintln!("SKIPPED: {}", events.remarks().join("; "));
            return None;
        }
        Some((events, own))
    }

    #[test]
    fn a_child_of_ours_is_heard_of() {
        let Some((mut events, pid)) = open(KernelEvents::forks_complete) else { return };
        let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
        child.wait().unwrap();
        let child = Pid(child.id());
        let heard = |event: &Event| matches!(event, Event::Fork(fork) if fork.parent == pid && fork.child == child);
        assert!(events.drain().iter().any(heard));
    }

    #[test]
    fn a_binding_is_heard_of_even_where_it_changes_nothing() {
        let Some((mut events, pid)) = open(KernelEvents::pins_complete) else { return };
        let mut child = Command::new("sleep").arg("20").spawn().unwrap();
        let target = Tid(child.id());
        let mask = affinity::get(target).unwrap();
        affinity::set(target, &mask).unwrap();
        let heard = |event: &Event| matches!(event, Event::Pin(pin) if pin.by == pid && pin.argument == target.0);
        assert!(events.drain().iter().any(heard));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_source_is_closed_before_it_is_opened_again() {
        let register = Arc::new(());
        let take = || if Arc::strong_count(&register) == 1 { Ok(Arc::clone(&register)) } else { Err("taken".into()) };
        let mut source = take();
        reopen(&mut source, take);
        assert!(source.is_ok());
    }

    #[test]
    fn what_cannot_be_heard_is_said() {
        let mut none = KernelEvents::none("switched off");
        assert!(none.drain().is_empty() && !none.forks_complete() && !none.pins_complete());
        assert_eq!(none.remarks().len(), 2);
    }
}

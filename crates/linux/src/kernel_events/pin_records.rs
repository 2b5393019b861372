//! Decodes records of calls of `sched_setaffinity(2)`; pure. Each call appears twice, when it is
//! requested and when it is allowed or done, in one of two forms. A breakpoint's sample has two
//! registers (the first argument, and the instruction pointer, which identifies the breakpoint). A
//! tracepoint's sample has the raw record (`events/syscalls/*/format`).

use crate::perf::records::{field, records};
use isobar_model::{Pid, Tid};
use perf_event_open_sys::bindings;
use std::collections::BTreeMap;

const WHO_AND_WHEN: u32 = bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_TIME;

/// pid, tid (u32 each), time, kind of registers (u64 each).
const FIRST_REGISTER: usize = 24;
/// pid, tid (u32 each), time (u64), size of the raw record (u32).
const RAW: usize = 20;
/// The type of the record and other common fields, the number of the system call, padding.
const RAW_ARGUMENT: usize = 16;

/// A change of a thread's affinity that the kernel carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// When it was requested, on `CLOCK_MONOTONIC`, in nanoseconds.
    pub time: u64,
    /// The process that requested it.
    pub by: Pid,
    /// The thread that requested it.
    pub by_thread: Tid,
    /// The thread whose affinity was set, as the requesting thread names it: in its own pid
    /// namespace. 0 is itself.
    pub argument: u32,
}

/// The addresses of the breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The address that every call passes.
    pub asked: u64,
    /// The address that a call passes once it was found to be allowed.
    pub allowed: u64,
}

/// The ids of the tracepoints (`events/syscalls/sys_{enter,exit}_sched_setaffinity/id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// of the call
    pub enter: u16,
    /// of its end
    pub exit: u16,
}

/// The form of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Samples of breakpoints.
    Breakpoints(Places),
    /// Samples of tracepoints.
    Tracepoints(Ids),
}

impl Form {
    /// The fields that a sample must hold.
    #[must_use]
    pub fn sample_type(self) -> u64 {
        u64::from(match self {
            Self::Breakpoints(_) => WHO_AND_WHEN | bindings::PERF_SAMPLE_REGS_INTR,
            Self::Tracepoints(_) => WHO_AND_WHEN | bindings::PERF_SAMPLE_RAW,
        })
    }

    fn step(self, body: &[u8]) -> Option<Step> {
        match self {
            Self::Breakpoints(places) => {
                let argument = u64::from_ne_bytes(field(body, FIRST_REGISTER)?);
                let place = u64::from_ne_bytes(field(body, FIRST_REGISTER + 8)?);
                let allowed = (place == places.allowed).then_some(Step::Allowed);
                if place == places.asked { Some(Step::Asked(low(argument))) } else { allowed }
            }
            Self::Tracepoints(ids) => {
                let kind = u16::from_ne_bytes(field(body, RAW)?);
                let argument = u64::from_ne_bytes(field(body, RAW + RAW_ARGUMENT)?);
                let ended = if argument == 0 { Step::Allowed } else { Step::Refused };
                let ended = (kind == ids.exit).then_some(ended);
                if kind == ids.enter { Some(Step::Asked(low(argument))) } else { ended }
            }
        }
    }
}

/// A thread id in a register.
fn low(argument: u64) -> u32 {
    u32::try_from(argument & 0xffff_ffff).unwrap_or(0)
}

/// How long a call may take from its beginning until it is allowed, in nanoseconds: a thread may be
/// throttled in between. An older one was refused, which breakpoints do not show.
const LONGEST_CALL: u64 = 30_000_000_000;

/// Calls that were requested and not yet allowed, by calling thread.
#[derive(Debug, Default)]
pub struct Calls {
    open: BTreeMap<Tid, Pin>,
}

/// The beginning or the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When, on `CLOCK_MONOTONIC`, in nanoseconds.
    pub time: u64,
    pid: Pid,
    tid: Tid,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A request for this thread.
    Asked(u32),
    Allowed,
    Refused,
}

impl Calls {
    /// The calls that the kernel carried out, from the records until a time. A thread may change
    /// CPUs within its call, so the records of all CPUs are merged by time.
    pub fn carried_out(&mut self, mut records: Vec<Call>, until: u64) -> Vec<Pin> {
        records.sort_by_key(|call| call.time);
        let done = records.iter().filter_map(|call| self.follow(call)).collect();
        self.open.retain(|_, pin| pin.time.saturating_add(LONGEST_CALL) >= until);
        done
    }

    fn follow(&mut self, call: &Call) -> Option<Pin> {
        if let Step::Asked(argument) = call.step {
            let pin = Pin { time: call.time, by: call.pid, by_thread: call.tid, argument };
            self.open.insert(call.tid, pin);
            return None;
        }
        self.open.remove(&call.tid).filter(|_| call.step == Step::Allowed)
    }
}

/// Appends the records in the bytes of one CPU's ring buffer; true if the kernel dropped some.
pub fn parse(form: Form, bytes: &[u8], calls: &mut Vec<Call>) -> bool {
    let mut lost = false;
    for (kind, body) in records(bytes) {
        lost |= kind == bindings::PERF_RECORD_LOST;
        calls.extend(Some(body).filter(|_| kind == bindings::PERF_RECORD_SAMPLE).and_then(|body| call(form, body)));
    }
    lost
}

fn call(form: Form, body: &[u8]) -> Option<Call> {
    Some(Call {
        pid: Pid(u32::from_ne_bytes(field(body, 0)?)),
        tid: Tid(u32::from_ne_bytes(field(body, 4)?)),
        time: u64::from_ne_bytes(field(body, 8)?),
        step: form.step(body)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::records::tests::record as with_header;
    use proptest::prelude::*;

    const PLACES: Places = Places { asked: 0xff10, allowed: 0xff90 };
    const IDS: Ids = Ids { enter: 392, exit: 391 };
    const FORMS: [Form; 2] = [Form::Breakpoints(PLACES), Form::Tracepoints(IDS)];

    fn record(form: Form, step: Step, tid: u32, time: u64) -> Vec<u8> {
        let argument = match step {
            Step::Asked(argument) => u64::from(argument),
            Step::Allowed => 0,
            Step::Refused => u64::MAX,
        };
        let mut body = [7u32.to_ne_bytes(), tid.to_ne_bytes()].concat();
        body.extend(time.to_ne_bytes());
        let asked = matches!(step, Step::Asked(_));
        match form {
            Form::Breakpoints(places) => {
                let place = if asked { places.asked } else { places.allowed };
                body.extend([2, argument, place].map(u64::to_ne_bytes).concat());
            }
            Form::Tracepoints(ids) => {
                let kind = if asked { ids.enter } else { ids.exit };
                body.extend(
                    [&40u32.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 14], &argument.to_ne_bytes(), &[0; 16]]
                        .concat(),
                );
            }
        }
        with_header(bindings::PERF_RECORD_SAMPLE, &body)
    }

    fn read(form: Form, rings: &[&[u8]]) -> (Vec<Pin>, bool) {
        let mut calls = Vec::new();
        let lost = rings.iter().filter(|bytes| parse(form, bytes, &mut calls)).count() > 0;
        (Calls::default().carried_out(calls, 200), lost)
    }

    #[test]
    fn a_call_counts_once_it_was_found_to_be_allowed() {
        for form in FORMS {
            // Thread 8 was refused. Thread 9 continued on the second CPU, whose ring is read first.
            let first = [record(form, Step::Asked(55), 8, 100), record(form, Step::Asked(0), 9, 101)].concat();
            let refused = match form {
                Form::Breakpoints(_) => record(form, Step::Asked(56), 8, 102),
                Form::Tracepoints(_) => record(form, Step::Refused, 8, 102),
            };
            let second = [record(form, Step::Allowed, 9, 103), record(form, Step::Allowed, 10, 104)].concat();
            let pin = Pin { time: 101, by: Pid(7), by_thread: Tid(9), argument: 0 };
            assert_eq!(read(form, &[&second, &first, &refused]), (vec![pin], false), "{form:?}");
        }
    }

    #[test]
    fn a_call_that_was_refused_is_not_kept_for_ever() {
        let form = Form::Breakpoints(PLACES);
        let (mut calls, mut records) = (Calls::default(), Vec::new());
        parse(form, &record(form, Step::Asked(55), 8, 100), &mut records);
        assert!(calls.carried_out(std::mem::take(&mut records), 100 + LONGEST_CALL).is_empty());
        assert_eq!(calls.open.len(), 1, "it may still be allowed");
        assert!(calls.carried_out(records, 101 + LONGEST_CALL).is_empty());
        assert!(calls.open.is_empty());
    }

    #[test]
    fn records_that_were_dropped_are_noticed() {
        let lost = with_header(bindings::PERF_RECORD_LOST, &[0; 16]);
        assert!(FORMS.iter().all(|form| read(*form, &[&lost]) == (vec![], true)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = FORMS.map(|form| read(form, &[&bytes]));
        }
    }
}

//! Reads changes of affinity as the kernel reports them, through perf events on every CPU. In
//! practice this works for root only. Reading never waits.
//!
//! The first choice is hardware breakpoints on the two functions that carry out
//! `sched_setaffinity(2)`: each takes one debug register of four, and nothing else is slowed.
//! Kernels without kprobes do not allow them. There isobar uses the tracepoints of the system call,
//! which cost *every* system call of every process some 0.1 us, because all of them then take the
//! slow path.

use super::pin_records::{Call, Calls, Form, Pin, parse};
use super::{symbols, tracefs};
use crate::kernel::arch::CALL_REGISTERS;
use crate::perf::event::{Code, Modes, attributes, last_errno, open_on_cpu};
use crate::perf::ring::{Ring, page_size};
use isobar_model::{CpuId, CpuSet};
use perf_event_open_sys::{bindings, ioctls};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;

/// Data pages of a CPU's ring buffer: enough for some 500 calls between two readings.
const DATA_PAGES: usize = 16;

/// The length of a breakpoint on code, as the kernel wants it.
const CODE_LENGTH: u64 = 8;

/// The source of affinity changes.
#[derive(Debug)]
pub struct Pins {
    rings: Vec<Ring>,
    /// The events of the second kind, held open: each writes into the ring buffer of its CPU.
    ends: Vec<OwnedFd>,
    cpus: CpuSet,
    form: Form,
    calls: Calls,
    /// Calls that are younger than the last reading, because the rings are read one after the
    /// other.
    later: Vec<Call>,
}

impl Pins {
    /// Begins to watch these CPUs.
    ///
    /// # Errors
    /// Why the kernel does not report changes, in words.
    pub fn open(cpus: &CpuSet) -> Result<Self, String> {
        Self::by_breakpoints(cpus).or_else(|first| {
            Self::by_tracepoints(cpus)
                .map_err(|second| format!("changes of affinity cannot be watched: {first}; {second}"))
        })
    }

    fn by_breakpoints(cpus: &CpuSet) -> Result<Self, String> {
        let places = symbols::affinity().ok_or("the kernel's symbols cannot be read")?;
        let opened = Self::of_form(Form::Breakpoints(places), cpus);
        opened.map_err(|errno| format!("breakpoints in the kernel cannot be set ({errno})"))
    }

    fn by_tracepoints(cpus: &CpuSet) -> Result<Self, String> {
        let ids = tracefs::affinity_ids().map_err(|errno| format!("tracefs cannot be read ({errno})"))?;
        let opened = Self::of_form(Form::Tracepoints(ids), cpus);
        opened.map_err(|errno| format!("tracepoints cannot be opened ({errno})"))
    }

    fn of_form(form: Form, cpus: &CpuSet) -> Result<Self, Errno> {
        let (rings, ends, later) = (Vec::new(), Vec::new(), Vec::new());
        let mut pins = Self { rings, ends, cpus: cpus.clone(), form, calls: Calls::default(), later };
        cpus.iter().try_for_each(|cpu| pins.watch(cpu))?;
        Ok(pins)
    }

    /// Whether this slows every system call on the machine.
    pub const fn slows_system_calls(&self) -> bool {
        matches!(self.form, Form::Tracepoints(_))
    }

    /// The CPUs that are watched.
    pub const fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// The changes since the last call and until a time, in order; true if the kernel may have
    /// dropped some.
    pub fn drain(&mut self, until: u64) -> (Vec<Pin>, bool) {
        let (mut bytes, mut lost) = (Vec::new(), false);
        let mut records = std::mem::take(&mut self.later);
        for ring in &self.rings {
            bytes.clear();
            ring.drain(&mut bytes);
            // A loss is recorded with the record after it, which may never come. So a nearly full
            // buffer counts as a loss, too.
            lost |= parse(self.form, &bytes, &mut records) || bytes.len() > page_size() * (DATA_PAGES - 1);
        }
        (records, self.later) = records.into_iter().partition(|record| record.time <= until);
        (self.calls.carried_out(records, until), lost)
    }

    /// Opens both events on a CPU; they write to one ring buffer.
    fn watch(&mut self, cpu: CpuId) -> Result<(), Errno> {
        let (begin, end) = match self.form {
            Form::Breakpoints(places) => (breakpoint(places.asked), breakpoint(places.allowed)),
            Form::Tracepoints(ids) => (tracepoint(ids.enter), tracepoint(ids.exit)),
        };
        let begin = open_on_cpu(&mut self.sampled(begin), cpu)?;
        let end = open_on_cpu(&mut self.sampled(end), cpu)?;
        let target = begin.as_raw_fd();
        let ring = Ring::map(begin, DATA_PAGES)?;
        // SAFETY: PERF_EVENT_IOC_SET_OUTPUT takes a descriptor as a plain number and touches no
        // memory of ours.
        let result = unsafe { ioctls::SET_OUTPUT(end.as_raw_fd(), target) };
        if result < 0 {
            return Err(last_errno());
        }
        self.rings.push(ring);
        self.ends.push(end);
        Ok(())
    }

    fn sampled(&self, mut attr: bindings::perf_event_attr) -> bindings::perf_event_attr {
        attr.__bindgen_anon_1.sample_period = 1;
        attr.sample_type = self.form.sample_type();
        // The clock of the kernel's process events, so that both kinds of events can be ordered.
        attr.set_use_clockid(1);
        attr.clockid = libc::CLOCK_MONOTONIC;
        attr
    }
}

fn breakpoint(address: u64) -> bindings::perf_event_attr {
    let code = Code::new(bindings::PERF_TYPE_BREAKPOINT, [0, address, CODE_LENGTH]);
    let mut attr = attributes(code, Modes::All);
    attr.bp_type = bindings::HW_BREAKPOINT_X;
    attr.sample_regs_intr = CALL_REGISTERS;
    attr
}

fn tracepoint(id: u16) -> bindings::perf_event_attr {
    attributes(Code::new(bindings::PERF_TYPE_TRACEPOINT, [u64::from(id), 0, 0]), Modes::All)
}

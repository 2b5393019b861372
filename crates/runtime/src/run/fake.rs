//! A machine in memory for tests: scripted readings, recorded actions. Time advances by the length
//! of each wait.

use isobar_model::plan::Plan;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    Action, ActionOutcome, Capabilities, Count, Counters, CpuId, Machine, NodeId, NodeMap, Outcome, PageMove, Pages,
    Pid, ProcessSample, Sample, Seconds, ThreadSample, Tid, Wake,
};
use std::sync::Arc;

/// The error of a fake machine.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FakeError(pub String);

/// A machine of two nodes with two cores each, and one process of two busy threads whose name
/// contains an escape sequence. The loop borrows it.
#[derive(Default)]
pub struct Fake {
    /// Seconds since it was opened.
    pub time: f64,
    /// What is missing.
    pub capabilities: Capabilities,
    /// From sample number N (from 1) on, these are the capabilities.
    pub later: Option<(u64, Capabilities)>,
    /// What wait number N (from 1) returns if it is not "elapsed".
    pub wakes: Vec<(u64, Wake)>,
    /// The number of the sample (from 1) that fails.
    pub fails_at: Option<u64>,
    /// Whether putting back fails.
    pub cannot_restore: bool,
    /// The page moves that samples report, from sample number N (from 1) until the next entry.
    pub flights: Vec<(u64, Vec<PageMove>)>,
    /// The outcome of pages under way when the machine is put back.
    pub left_over: Vec<ActionOutcome>,
    /// The outcome of every action.
    pub outcome: ActionOutcome,
    /// Plans that were applied.
    pub applied: Vec<Plan>,
    /// The outcome of actions that are taken back. The actions are recorded in `undone`.
    pub undo: Option<ActionOutcome>,
    /// Actions that were taken back.
    pub undone: Vec<Action>,
    /// Number of times that it was put back.
    pub restored: u64,
    /// Number of readings so far.
    pub samples: u64,
    /// Number of waits so far.
    pub waits: u64,
}

/// A name that clears the screen and forges a line if it is printed unescaped.
pub const EVIL_NAME: &str = "evil\u{1b}[2J\nfake: line\u{202e}";

impl Fake {
    fn thread(&self, tid: u32, mpki: u64) -> ThreadSample {
        let steps = self.samples;
        let counters = Counters {
            instructions: Some(Count::whole(1_000_000 * steps, steps)),
            llc_misses: Some(Count::whole(1000 * mpki * steps, steps)),
            ..Counters::default()
        };
        let (cpu, cpu_time) = (Some(CpuId(0)), Some(Seconds(self.time)));
        ThreadSample { tid: Tid(tid), cpu, cpu_time, counters, ..ThreadSample::default() }
    }
}

impl Machine for &mut Fake {
    type Error = FakeError;

    fn sample(&mut self) -> Result<Sample, FakeError> {
        self.samples += 1;
        if self.fails_at == Some(self.samples) {
            return Err(FakeError("/proc: gone".into()));
        }
        if let Some((_, later)) = self.later.take_if(|(number, _)| *number <= self.samples) {
            self.capabilities = later;
        }
        let pages = NodeMap::from_iter([(NodeId(0), Pages(300)), (NodeId(1), Pages(100))]);
        let process = ProcessSample {
            pid: Pid(10),
            name: EVIL_NAME.into(),
            pages: Some(pages),
            threads: vec![self.thread(10, 40), self.thread(11, 10)],
            ..ProcessSample::default()
        };
        let machine = synthetic("node:2 core:2").map_err(|error| FakeError(error.to_string()))?;
        let sample = Sample::bare(Seconds(self.time), Arc::new(machine), vec![process]);
        let flights = self.flights.iter().rev().find(|(number, _)| *number <= self.samples);
        let page_moves = flights.map(|(_, flights)| flights.clone()).unwrap_or_default();
        Ok(Sample { page_moves, capabilities: Arc::new(self.capabilities.clone()), ..sample })
    }

    fn apply(&mut self, plan: &Plan) -> Result<Outcome, FakeError> {
        self.applied.push(plan.clone());
        Ok(Outcome { actions: plan.actions.iter().map(|_| self.outcome.clone()).collect() })
    }

    fn undo(&mut self, action: &Action, _: &ActionOutcome) -> Result<ActionOutcome, FakeError> {
        self.undone.push(action.clone());
        Ok(self.undo.clone().unwrap_or_default())
    }

    fn wait(&mut self, interval: Seconds) -> Result<Wake, FakeError> {
        self.waits += 1;
        let scripted = self.wakes.iter().find(|(number, _)| *number == self.waits);
        let wake = scripted.map_or(Wake::Elapsed, |(_, wake)| *wake);
        if wake != Wake::Called {
            self.time += interval.0;
        }
        Ok(wake)
    }

    fn restore(&mut self) -> Result<Outcome, FakeError> {
        self.restored += 1;
        if self.cannot_restore {
            return Err(FakeError("state file: gone".into()));
        }
        let done = self.applied.iter().flat_map(|plan| &plan.actions).map(|_| ActionOutcome::Done);
        Ok(Outcome { actions: done.chain(self.left_over.drain(..)).collect() })
    }
}

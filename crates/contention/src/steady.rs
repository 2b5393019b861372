//! A special case of the general question, which static studies ask millions of times: programs
//! that run for ever, one thread each on a core of its own, in clusters of ways of LLCs of one kind
//! behind one memory controller, with all memory local. The equations are those of
//! [`crate::solve`], and a test checks that the answers agree; only the set-up is shorter and the
//! first point nearer.
//!
//! Every question starts from the same point, so that the answer does not depend on earlier
//! questions.

use crate::budget::{Budget, Meter, NoAnswer};
use crate::build;
use crate::machine::{Machine, Place};
use crate::network::{LONGEST, Network, Trial};
use crate::newton::Workspace;
use crate::question::Demand;
use crate::queue::Resource;
use crate::solver::find;
use crate::space::stays;
use crate::stream::{Flow, Stream, Visit};
use isobar_model::num;

/// Number of halvings of the interval in which the first queue is searched for.
const HALVINGS: u32 = 10;
/// Number of halvings of the interval in which the longest wait is searched for.
const ROOTS: u32 = 40;

/// The kind of LLC and controller that a machine has, and the programs of a question.
#[derive(Clone, Debug)]
pub struct Steady {
    way_bytes: f64,
    controller: Resource,
    programs: Vec<Stream>,
}

/// Programs that share ways which no other program fills.
#[derive(Clone, Copy, Debug)]
pub struct Sharers<'a> {
    /// The programs, by position.
    pub programs: &'a [usize],
    /// Number of ways.
    pub ways: usize,
}

/// How fast a program runs, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Seconds per instruction.
    pub seconds: f64,
    /// Seconds per instruction with the same misses, if none of them waited for the controller.
    pub unqueued: f64,
    /// LLC misses per instruction.
    pub misses: f64,
    /// Bytes per second to and from memory.
    pub bandwidth: f64,
    /// Bytes held in the LLC.
    pub held: f64,
}

/// Memory that is reused from question to question.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    network: Network,
    at: Trial,
    work: Workspace,
    who: Vec<usize>,
    paces: Vec<Pace>,
    loads: Vec<Load>,
}

/// The insertion rate of a stream as a function of the wait at the controller, while the space that
/// it holds stays the same.
#[derive(Clone, Copy, Debug)]
struct Load {
    bytes: f64,
    /// Lines that pass the controller for each line inserted.
    lines: f64,
    /// Seconds between two misses without a wait, and additional seconds for each second of wait.
    period: f64,
    by_wait: f64,
}

impl Load {
    fn of(stream: &Stream, space: f64) -> Self {
        let sum = |of: fn(&Visit) -> f64| stream.visits.iter().map(of).sum();
        Self {
            bytes: stream.bytes,
            lines: sum(|visit| visit.lines),
            period: stream.computing(space).0 + stream.stall,
            by_wait: sum(|visit| visit.stall),
        }
    }

    /// Bytes per second.
    fn bytes(&self, wait: f64) -> f64 {
        self.bytes / (self.period + self.by_wait * wait)
    }
}

impl Steady {
    /// LLCs with ways as large as those of the machine's first LLC, and a controller like that of
    /// its first node. The controller has `bandwidth` bytes per second if given, and otherwise what
    /// that node sustains. The programs' masks are ignored, and the programs are taken to be on the
    /// first node with their memory.
    #[must_use]
    pub fn new(machine: &Machine, bandwidth: Option<f64>, programs: &[Demand]) -> Self {
        let first = machine.llcs().first();
        let controller = machine.resources()[0];
        Self {
            way_bytes: first.map_or(0.0, |llc| llc.bytes / f64::from(llc.ways)),
            controller: Resource { capacity: bandwidth.unwrap_or(controller.capacity), ..controller },
            programs: programs.iter().map(|program| stream(machine, program)).collect(),
        }
    }

    /// Bytes per second that the controller can deliver.
    #[must_use]
    pub const fn bandwidth(&self) -> f64 {
        self.controller.capacity
    }

    /// The program alone with a number of ways.
    ///
    /// # Errors
    /// As [`Self::paces`].
    pub fn alone(&self, program: usize, ways: usize) -> Result<Pace, NoAnswer> {
        let mut scratch = Scratch::default();
        Ok(self.paces([Sharers { programs: &[program], ways }], &mut scratch)?[0])
    }

    /// How fast every program runs while all of these run behind one controller; in their order.
    ///
    /// # Errors
    /// [`NoAnswer`] if the default [`Budget`] does not suffice.
    pub fn paces<'s, 'a>(
        &self,
        clusters: impl IntoIterator<Item = Sharers<'a>>,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [Pace], NoAnswer> {
        self.compete(clusters, scratch);
        let Scratch { network, at, work, who, paces, .. } = scratch;
        find(network, at, work, &mut Meter::new(Budget::default()))?;
        paces.clear();
        paces.extend(who.iter().zip(&at.flows).map(|(program, flow)| self.pace(*program, flow)));
        Ok(paces)
    }

    /// How fast every program of a cluster runs if each transfer waits `wait` seconds at the
    /// controller, whatever else runs; in their order.
    ///
    /// # Errors
    /// As [`Self::paces`].
    pub fn waiting<'s>(
        &self,
        cluster: Sharers<'_>,
        wait: f64,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [Pace], NoAnswer> {
        self.compete([cluster], scratch);
        let Scratch { network, who, paces, .. } = scratch;
        let stalls: Vec<f64> = network.streams.iter().map(|stream| stream.stalled(&[wait])).collect();
        let stay = stays(network, &stalls, &mut Meter::new(Budget::default()))?[0];
        let flow = |(stream, stall): (&Stream, &f64)| stream.flow(*stall, stay, 0.5 * stream.limit);
        let flows = network.streams.iter().zip(&stalls).map(flow);
        paces.clear();
        paces.extend(who.iter().zip(flows).map(|(program, flow)| self.pace(*program, &flow)));
        Ok(paces)
    }

    /// Bytes per second that the controller carries if a transfer waits `wait` seconds.
    #[must_use]
    pub fn carried(&self, wait: f64) -> f64 {
        self.controller.capacity * self.controller.utilisation(wait)
    }

    /// An upper bound on the wait, whichever of the programs run: the wait at which all of them
    /// would fill the controller if none held any of a cache. Found by halving.
    #[must_use]
    pub fn longest_wait(&self) -> f64 {
        let loads: Vec<Load> = self.programs.iter().map(|stream| Load::of(stream, 0.0)).collect();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..ROOTS {
            let slack = 0.5 * (low + high);
            let wait = self.controller.wait_at_slack(slack);
            let carried: f64 = loads.iter().map(|load| load.lines * load.bytes(wait)).sum();
            if carried < (1.0 - slack) * self.controller.capacity { low = slack } else { high = slack }
        }
        self.controller.wait_at_slack(low.max(f64::MIN_POSITIVE))
    }

    /// Sets up the equations and the first point.
    fn compete<'a>(&self, clusters: impl IntoIterator<Item = Sharers<'a>>, scratch: &mut Scratch) {
        let Scratch { network, at, who, loads, .. } = scratch;
        who.clear();
        network.streams.clear();
        network.spaces.clear();
        network.members.clear();
        network.resources.clear();
        network.resources.push(self.controller);
        network.disjoint = true;
        at.flows.clear();
        for (part, cluster) in clusters.into_iter().enumerate() {
            let first = network.streams.len();
            for program in cluster.programs {
                network.streams.push(Stream { shares: vec![(part, 1.0)], ..self.programs[*program].clone() });
                who.push(*program);
            }
            network.members.push((first..network.streams.len()).map(|index| (index, 1.0)).collect());
            network.spaces.push(self.way_bytes * num::float_len(cluster.ways));
        }
        self.start(network, at, loads);
    }

    /// The point at which the search begins. Every program is taken to insert as with an equal part
    /// of its cluster and no queue, which divides the space. The space then held loads the
    /// controller, which gives the queue. Space and queue give the residence times.
    fn start(&self, network: &Network, at: &mut Trial, loads: &mut Vec<Load>) {
        at.flows.resize(network.streams.len(), Flow::default());
        loads.clear();
        for (members, size) in network.members.iter().zip(&network.spaces) {
            let equal = size / num::float_len(members.len());
            let of = |index: usize| &network.streams[index];
            let rate = |index: usize| of(index).inserted(equal.min(of(index).limit), &[0.0]);
            members.iter().for_each(|(index, _)| at.flows[*index] = Flow::holding(rate(*index)));
            let all: f64 = members.iter().map(|(index, _)| at.flows[*index].space).sum();
            for (index, _) in members {
                let part = if all > 0.0 { size * at.flows[*index].space / all } else { equal };
                at.flows[*index] = Flow::holding(part.min(of(*index).limit));
                loads.push(Load::of(of(*index), at.flows[*index].space));
            }
        }
        let slack = self.first_slack(loads);
        let wait = self.controller.wait_at_slack(slack);
        at.point.slack.clear();
        at.point.slack.push(slack);
        at.point.stay.clear();
        at.point.stay.extend(network.members.iter().zip(&network.spaces).map(|(members, size)| {
            let inserted = |(index, _): &(usize, f64)| loads[*index].bytes(wait);
            size / (size / LONGEST + members.iter().map(inserted).sum::<f64>())
        }));
    }

    /// The idle fraction at which the controller carries what these loads demand, found by halving.
    fn first_slack(&self, loads: &[Load]) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let slack = 0.5 * (low + high);
            let wait = self.controller.wait_at_slack(slack);
            let carried: f64 = loads.iter().map(|load| load.lines * load.bytes(wait)).sum();
            if carried < (1.0 - slack) * self.controller.capacity { low = slack } else { high = slack }
        }
        0.5 * (low + high)
    }

    fn pace(&self, program: usize, flow: &Flow) -> Pace {
        let stream = &self.programs[program];
        let (rate, misses) = stream.progress(flow, 1.0);
        let lines: f64 = stream.visits.iter().map(|visit| visit.lines).sum();
        Pace {
            seconds: 1.0 / rate,
            unqueued: stream.compute + misses * stream.stall,
            misses,
            bandwidth: lines * flow.bytes,
            held: flow.space,
        }
    }
}

/// One thread of the program, on a core of its own. The first node's controller is the only
/// resource here.
fn stream(machine: &Machine, program: &Demand) -> Stream {
    let here = Demand { place: Place { node: 0, llc: 0 }, ..program.clone() };
    let mut stream = build::thread(machine, &here.alone(), &mut build::Lines::default(), Default::default());
    stream.visits.retain(|visit| visit.resource == 0);
    stream
}

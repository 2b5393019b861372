//! Turns a question into equations: every thread and the page copy become a stream, every LLC is
//! cut into parts, and resources that no stream passes are left out.

use crate::machine::Machine;
use crate::network::Network;
use crate::question::{Demand, PageCopy, Question};
use crate::queue::LINE;
use crate::space;
use crate::stream::{Misses, Stream, Visit};

/// Lines that a page copy keeps in flight (estimate: a `rep movs` over a page with the hardware
/// prefetcher).
const COPY_MLP: f64 = 4.0;
/// Kernel time of one page migration without the copy (estimate: with the copy about 600 MB/s, as
/// Goglin and Furmento measured for `move_pages` on a machine of four such Opterons, IPDPS
/// workshops 2009).
const COPY_OVERHEAD: f64 = 4e-6;
/// The fraction of a line's wait on a link that reaches a thread which does not wait for that line
/// (estimate: write buffers and requests in flight are finite). Without it, the equations would
/// have no solution if traffic that no thread waits for fills a link.
const BACKPRESSURE: f64 = 0.1;
/// The fraction of the waits of probes and their answers that a miss waits in addition to the
/// memory's. A miss ends with the later of the data and the last answer (McCalpin on Opterons,
/// 2010), and the waits on one way hide behind those on the other (estimate).
const PROBED: f64 = 0.5;
/// Lines of a base page.
const PAGE_LINES: f64 = 64.0;

/// The equations of a question, and the machine's position of each resource in use. The memory of
/// `old` streams is used again.
pub(crate) fn network(question: &Question, old: Vec<Stream>) -> (Network, Vec<usize>) {
    let Question { machine, threads, copy } = *question;
    let mut lines = Lines::default();
    let mut old = old.into_iter().map(|stream| (stream.visits, stream.shares));
    let mut again = || old.next().unwrap_or_default();
    let mut streams: Vec<_> = threads.iter().map(|one| thread(machine, one, &mut lines, again())).collect();
    streams.extend(copy.map(|copy| copying(machine, copy)));
    let spaces = divide(machine, threads, &mut streams);
    let used = only_used(&mut streams, machine.resources().len());
    let resources = used.iter().map(|k| machine.resources()[*k]).collect();
    (Network::of(resources, spaces, streams), used)
}

/// Lines by resource, reused from thread to thread.
#[derive(Default)]
pub(crate) struct Lines {
    /// The lines that a miss causes.
    caused: Vec<f64>,
    /// The lines that it waits for.
    awaited: Vec<f64>,
}

impl Lines {
    fn cleared(&mut self, resources: usize) -> (&mut [f64], &mut [f64]) {
        for lines in [&mut self.caused, &mut self.awaited] {
            lines.clear();
            lines.resize(resources, 0.0);
        }
        (&mut self.caused, &mut self.awaited)
    }
}

/// A thread as a stream that has no part of a cache yet. The contents of both lists are replaced.
pub(crate) fn thread(
    machine: &Machine,
    one: &Demand,
    lines: &mut Lines,
    (mut visits, mut shares): (Vec<Visit>, Vec<(usize, f64)>),
) -> Stream {
    let home = one.place.node;
    let resources = machine.resources().len();
    let (lines, awaited) = lines.cleared(resources);
    for (node, weight) in one.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        let read = weight * (1.0 + one.prefetch);
        let written = read * one.write_back;
        lines[node] += read + written;
        awaited[node] += weight;
        // Data comes from the page's node, and write-backs go there.
        for link in machine.route(node, home) {
            lines[*link] += read;
            awaited[*link] += weight;
        }
        machine.route(home, node).iter().for_each(|link| lines[*link] += written);
        machine.add_packets((home, node), read, lines);
        machine.add_probe_ways((home, node), PROBED * weight, awaited);
    }
    for link in machine.nodes()..resources {
        awaited[link] = awaited[link].max(BACKPRESSURE * lines[link]);
    }
    let idle: f64 = one.weights.iter().zip(&machine.latency()[home]).map(|(weight, seconds)| weight * seconds).sum();
    set_visits(&mut visits, (lines, awaited), one.mlp);
    shares.clear();
    // Each of several threads that take turns on a core has a part of its private cache.
    let private = machine.llcs().get(one.place.llc).map_or(0.0, |llc| llc.private) * one.share;
    Stream {
        bytes: LINE * one.share,
        compute: one.compute,
        misses: Misses::Curve {
            curve: one.curve.clone(),
            factor: one.factor,
            reach: one.reach,
            private: private.min(one.footprint),
            most: one.curve.misses_and_slope(private).0,
        },
        // Lines are issued one after another, however many are in flight.
        stall: idle / one.mlp + one.delay * (1.0 + one.prefetch),
        visits,
        limit: (one.footprint - private).max(0.0),
        shares,
    }
}

/// A page copy by a CPU of the target node: pages are read there, pass the links and are written
/// here. The copy waits for all of these lines.
fn copying(machine: &Machine, PageCopy { from, to }: PageCopy) -> Stream {
    let mut lines = vec![0.0; machine.resources().len()];
    lines[from] += 1.0;
    lines[to] += 1.0;
    machine.route(from, to).iter().for_each(|link| lines[*link] += 1.0);
    let mut visits = Vec::new();
    set_visits(&mut visits, (&lines, &lines), COPY_MLP);
    Stream {
        bytes: LINE,
        compute: COPY_OVERHEAD,
        misses: Misses::Fixed(PAGE_LINES),
        stall: machine.latency()[to][from] / COPY_MLP,
        visits,
        limit: 0.0,
        shares: Vec::new(),
    }
}

/// Sets what a stream puts on each resource. Its wait there overlaps with `mlp` misses in flight.
fn set_visits(visits: &mut Vec<Visit>, (lines, awaited): (&[f64], &[f64]), mlp: f64) {
    let used = lines.iter().zip(awaited).enumerate().filter(|(_, (lines, _))| **lines > 0.0);
    visits.clear();
    visits.extend(used.map(|(resource, (lines, awaited))| Visit { resource, lines: *lines, stall: awaited / mlp }));
}

/// Cuts every LLC into parts and gives the threads their shares. Returns the bytes of each part.
fn divide(machine: &Machine, threads: &[Demand], streams: &mut [Stream]) -> Vec<f64> {
    let mut spaces = Vec::new();
    for (llc, cache) in machine.llcs().iter().enumerate() {
        let mask = |index: usize| threads[index].mask & cache.all_ways();
        let here: Vec<_> = (0..threads.len()).filter(|index| threads[*index].place.llc == llc).collect();
        let mut masks: Vec<_> = here.iter().map(|index| mask(*index)).collect();
        masks.sort_unstable();
        masks.dedup();
        let parts = space::parts(&masks);
        for index in here {
            let mask = mask(index);
            let open = parts.iter().enumerate().filter(|(_, part)| *part & mask != 0);
            let share = |part: &u64| f64::from(part.count_ones()) / f64::from(mask.count_ones());
            streams[index].shares.extend(open.map(|(number, part)| (spaces.len() + number, share(part))));
        }
        spaces.extend(parts.iter().map(|part| cache.bytes_of(*part)));
    }
    spaces
}

/// Renumbers the resources that streams visit. Returns the machine's number of each.
fn only_used(streams: &mut [Stream], resources: usize) -> Vec<usize> {
    let mut number = vec![None; resources];
    streams.iter().flat_map(|stream| &stream.visits).for_each(|visit| number[visit.resource] = Some(0));
    let used: Vec<_> = (0..resources).filter(|k| number[*k].is_some()).collect();
    used.iter().enumerate().for_each(|(new, old)| number[*old] = Some(new));
    for visit in streams.iter_mut().flat_map(|stream| &mut stream.visits) {
        visit.resource = number[visit.resource].unwrap_or_default();
    }
    used
}

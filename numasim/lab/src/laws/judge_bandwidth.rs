//! Law 3: the bandwidth that streams get from a controller and from a link. Some properties of a
//! CPU that streams alone are taken from the page: what it does between misses, how many of its
//! misses a stream covers, for which fraction of the other misses it waits, and how much it writes
//! back. The bandwidth of several streams then follows from the machine file and the queueing law
//! (closed_loop.rs), and is compared with what the controller carried.

use super::closed_loop::{Resource, User, utilisation};
use super::places::Places;
use super::plan;
use super::reading::{self, Readings};
use super::row::{Bound, Row, Verdict};
use numasim_guest::counters::{Counters, Cpu, Link};
use numasim_model::Spec;
use numasim_model::num::float;

/// A figure, or why there is none.
type Figure = Result<f64, String>;

const UNIT: &str = "MB/s";
const LINE: f64 = 64.0;
/// Largest ratio to its capacity that a queue may carry; above it, the model is wrong.
const NEVER_ABOVE: f64 = 1.02;
/// Fraction of the capacity that the streams which demand most must reach.
const SATURATED: f64 = 0.8;

/// The three resources of two nodes: the controller, the link towards the neighbour (which carries
/// the neighbour's reads), and the link from it (which carries its writes).
const CONTROLLER: usize = 0;
const OUT: usize = 1;
const BACK: usize = 2;

/// A window of measurement, and how many streams run on the node and on the neighbour.
struct Window {
    label: String,
    what: String,
    near: usize,
    far: usize,
}

fn windows(places: &Places) -> Vec<Window> {
    let near = (1..=places.cpus.len()).map(|near| {
        let what = format!("{near} streams on node {}", places.node);
        Window { label: plan::local_label(near), what, near, far: 0 }
    });
    let far = places.remote.iter().flat_map(|remote| {
        let (all, own) = (remote.cpus.len(), places.cpus.len());
        let over = |label: &str, near: usize, far: usize| {
            let what = match near {
                0 => format!("{far} streams over the link from node {}", remote.node),
                _ => format!("{near} streams on node {} and {far} over the link", places.node),
            };
            Window { label: label.to_owned(), what, near, far }
        };
        [over("remote1", 0, 1), over("remote", 0, all), over("all", own, all)]
    });
    near.chain(far).collect()
}

/// Judges the law; see the head of the file.
pub fn bandwidth(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let capacity = spec.node[places.node].mb_per_s;
    let windows = windows(places);
    let nature = readings.between(&plan::local_label(1)).and_then(|delta| nature(spec, places, &delta));
    let measured: Vec<Figure> = windows.iter().map(|window| carried(readings, places, window)).collect();
    let expected = windows.iter().map(|window| {
        nature.clone().map(|user| expect(spec, places, &user, window.near, window.far)[CONTROLLER] * capacity)
    });
    let expected: Vec<Figure> = expected.collect();
    let mut rows: Vec<Row> = Vec::new();
    for ((window, expected), measured) in windows.iter().zip(&expected).zip(&measured) {
        let tenth = Bound::Within(0.1);
        rows.push(Row::new("bandwidth", &window.what, UNIT, expected.clone(), tenth, measured.clone()));
    }
    rows.push(never_above(capacity, &measured));
    rows.push(grows(&measured[..places.cpus.len()]));
    rows.push(saturated(&format!("controller of node {}", places.node), capacity, &expected, &measured));
    rows.extend(link(spec, places, readings, &windows, &nature));
    rows
}

/// MB/s that the controller carried in a window.
fn carried(readings: &Readings, places: &Places, window: &Window) -> Figure {
    let delta = readings.between(&window.label)?;
    let node = reading::node(&delta, places.node)?;
    Ok(float(node.bytes_read + node.bytes_written) * 1e3 / float(delta.time_ns))
}

/// What a CPU that streams alone is like. The second CPU is used if there is one, because the first
/// joins last.
fn nature(spec: &Spec, places: &Places, alone: &Counters) -> Result<User, String> {
    let who = *places.cpus.get(1).unwrap_or(&places.cpus[0]);
    let cpu = reading::cpu(alone, who)?;
    if cpu.llc_misses == 0 || cpu.busy_ps <= cpu.stall_ps {
        return Err(format!("CPU {who} did not stream"));
    }
    let misses = float(cpu.llc_misses);
    // Its busy time less the time that it waited. Hits in the LLC belong to what it does between
    // misses, and are next to none here.
    let hits = float(cpu.llc_references.saturating_sub(cpu.llc_misses)) * spec.llc[places.llc].hit_ns;
    let covered = float(cpu.covered) / float(cpu.llc_references.max(1));
    Ok(User {
        rest: (float(cpu.busy_ps - cpu.stall_ps) / 1e3 + hits * (1.0 - covered)) / misses,
        latency: spec.latency.ns[places.node][places.node],
        covered,
        waits: waits(spec, places, alone, cpu, covered)?,
        written: float(cpu.bytes_written) / float(cpu.bytes_read.max(1)),
        reads: vec![CONTROLLER],
        writes: vec![CONTROLLER],
    })
}

/// The fraction of the cost of its uncovered misses for which it waited.
fn waits(spec: &Spec, places: &Places, alone: &Counters, cpu: &Cpu, covered: f64) -> Figure {
    let places_for_misses = f64::from(spec.overlap.misses);
    if spec.overlap.misses == 1 || covered >= 1.0 {
        return Ok(1.0);
    }
    let delay = float(reading::node(alone, places.node)?.delay_ps) / 1e3;
    let cost = spec.latency.ns[places.node][places.node] + delay;
    let slowest = LINE * 1e3 / spec.node[places.node].mb_per_s;
    let stalled = float(cpu.stall_ps) / 1e3 / float(cpu.llc_misses.max(1));
    let stream = covered * (cost / f64::from(spec.prefetch.depth)).max(slowest);
    Ok(((stalled - stream) / ((1.0 - covered) * cost)).clamp(1.0 / places_for_misses, 1.0))
}

/// Utilisations by the law, with `near` CPUs on the node and `far` CPUs over the link.
fn expect(spec: &Spec, places: &Places, user: &User, near: usize, far: usize) -> Vec<f64> {
    let resource = |mb_per_s: f64, scale: f64| Resource { service: LINE * 1e3 / mb_per_s, scale };
    let mut resources = vec![resource(spec.node[places.node].mb_per_s, spec.queue.controller_ns)];
    let mut users = vec![user.clone(); near];
    if let Some(remote) = &places.remote {
        let each_way = spec.link[remote.link].mb_per_s_each_way;
        resources.extend([resource(each_way, spec.queue.link_ns); 2]);
        let latency = spec.latency.ns[remote.node][places.node];
        let over = User { latency, reads: vec![CONTROLLER, OUT], writes: vec![CONTROLLER, BACK], ..user.clone() };
        users.extend(vec![over; far]);
    }
    utilisation(&resources, &users, f64::from(spec.prefetch.depth))
}

fn highest(values: &[Figure]) -> Figure {
    let all = values.iter().cloned().collect::<Result<Vec<_>, _>>()?;
    all.into_iter().reduce(f64::max).ok_or_else(|| "nothing was measured".to_owned())
}

fn never_above(capacity: f64, measured: &[Figure]) -> Row {
    let most = capacity * NEVER_ABOVE;
    Row::new("bandwidth", "the most that the controller carried", UNIT, Ok(most), Bound::AtMost, highest(measured))
}

/// The smallest ratio of throughput that one more CPU brings. It may not be below 0.99.
fn grows(measured: &[Figure]) -> Row {
    let what = "another CPU on the node: throughput times";
    if measured.len() < 2 {
        return Row::skipped("bandwidth", what, "the node has one CPU");
    }
    let steps = measured.iter().cloned().collect::<Result<Vec<_>, _>>();
    let least = steps.map(|all| all.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min));
    Row::new("bandwidth", what, "", Ok(0.99), Bound::AtLeast, least)
}

/// The streams that demand most must reach four fifths of the capacity. The row is skipped on a
/// machine whose CPUs cannot demand that much.
fn saturated(what: &str, capacity: f64, expected: &[Figure], measured: &[Figure]) -> Row {
    let what = format!("{what}: the most, at least {SATURATED} of its capacity");
    let least = SATURATED * capacity;
    let row = Row::new("bandwidth", what.as_str(), UNIT, Ok(least), Bound::AtLeast, highest(measured));
    match highest(expected) {
        Ok(law) if law < least && row.verdict == Verdict::Fails && row.measured.is_some() => {
            let why = format!("all CPUs together ask for too little: the queue law gives {law:.0} MB/s");
            Row::skipped("bandwidth", what, why)
        }
        _ => row,
    }
}

/// What the link carried towards the neighbour, which is what the neighbour's CPUs read.
fn link(
    spec: &Spec,
    places: &Places,
    readings: &Readings,
    windows: &[Window],
    user: &Result<User, String>,
) -> Vec<Row> {
    let Some(remote) = &places.remote else {
        return vec![Row::skipped("bandwidth", "over a link", "no node with CPUs is joined to the first by one link")];
    };
    let capacity = spec.link[remote.link].mb_per_s_each_way;
    let name = format!("link from node {} to {}", places.node, remote.node);
    let over: Vec<&Window> = windows.iter().filter(|window| window.far > 0).collect();
    let law = |window: &&Window| {
        let user = user.as_ref().map_err(Clone::clone)?;
        Ok(expect(spec, places, user, window.near, window.far)[OUT] * capacity)
    };
    let passed = |window: &&Window| {
        let delta = readings.between(&window.label)?;
        let ends = |link: &&Link| (link.from, link.to) == (wide(places.node), wide(remote.node));
        let link = delta.links.iter().find(ends).ok_or_else(|| format!("the page has no {name}"))?;
        Ok(float(link.bytes) * 1e3 / float(delta.time_ns))
    };
    let (expected, measured): (Vec<_>, Vec<_>) = (over.iter().map(law).collect(), over.iter().map(passed).collect());
    let most = capacity * NEVER_ABOVE;
    vec![
        Row::new(
            "bandwidth",
            format!("the most that the {name} carried"),
            UNIT,
            Ok(most),
            Bound::AtMost,
            highest(&measured),
        ),
        saturated(&name, capacity, &expected, &measured),
    ]
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "judge_bandwidth_tests.rs"]
mod tests;

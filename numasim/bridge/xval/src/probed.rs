//! Compares the latencies that `isobar probe` times in the guest with the latencies that the
//! machine counted. The counted latency of a pair of nodes is the unloaded latency of the machine
//! file plus the mean time that a line waited at the controller and at the links of its route.
//! isobar knows none of these counters: it times loads.

use crate::alone::nearest_other;
use crate::job::{first_cpu, timer};
use crate::order::PATIENCE;
use isobar_model::num;
use numasim_guest::counters::Counters;
use numasim_guest::wire::{Daemon, Job, Order, Ran, Regime, Run};
use numasim_lab::stats::median;
use numasim_model::Spec;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// Largest relative difference of a probed latency from the counted one.
pub const BAND: f64 = 0.10;
/// Guest seconds between rounds of probing, so that even short runs have many rounds.
const INTERVAL: &str = "0.05";
/// Least number of rounds, each of 160 loads per pair, for a measurement.
const ROUNDS: usize = 4;
/// Bytes of a cache line.
const LINE: u64 = 64;

/// The latency of one pair of nodes under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The load.
    pub load: String,
    /// Node of the CPU.
    pub from: usize,
    /// Node of the memory.
    pub to: usize,
    /// The machine file's unloaded latency, in ns.
    pub idle_ns: f64,
    /// The latency that the machine counted, in ns.
    pub counted_ns: f64,
    /// The median of the latencies that isobar probed, in ns.
    pub probed_ns: f64,
}

impl Row {
    /// The relative amount by which the probed latency is above the counted one.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.probed_ns / self.counted_ns - 1.0
    }
}

/// The runs: isobar probes the machine while it is idle, beside streams on the first node, and
/// beside streams that fetch from the first node over a link.
#[must_use]
pub fn order(spec: &Spec, seconds: f64) -> Order {
    let own = spec.node.first().map_or(&[][..], |node| node.cpus.as_slice());
    let local = own.iter().skip(1).take(3).map(|cpu| num::narrow(*cpu)).collect();
    let away = nearest_other(spec, 0).map_or(&[][..], |node| spec.node[node].cpus.as_slice());
    let over = away.iter().skip(1).take(2).map(|cpu| num::narrow(*cpu)).collect();
    let loads = [("idle", Vec::new()), ("streams on node 0", local), ("streams over a link", over)];
    let runs = loads.into_iter().map(|(id, cpus)| run(spec, id, &cpus, seconds)).collect();
    Order { modelled: true, limit_seconds: PATIENCE.0 * seconds + PATIENCE.1, runs }
}

/// A run of some streams. isobar may use only the CPUs without a stream, because a stream that
/// shares its CPU with the probe does not run while the probe measures.
fn run(spec: &Spec, id: &str, cpus: &[u32], seconds: f64) -> Run {
    let free = (0..spec.cpus()).map(num::narrow).filter(|cpu: &u32| !cpus.contains(cpu));
    let free = free.map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    let words =
        ["taskset", "-c", &free, "/bin/isobar", "probe", "--json", "--interval", INTERVAL, "--count", "1000000"];
    let argv = words.map(str::to_owned).to_vec();
    let daemon = Daemon { argv, ..Daemon::default() };
    let mut jobs: Vec<Job> = cpus.iter().map(|cpu| stream(spec, *cpu)).collect();
    jobs.push(timer(spec, seconds));
    Run { id: id.to_owned(), regime: Regime { daemon: Some(daemon), ..Regime::default() }, ways: Vec::new(), jobs }
}

/// A stream on a CPU, with its memory on the first node.
fn stream(spec: &Spec, cpu: u32) -> Job {
    let argv = ["/bin/stream", "--size-kib", "4096", "--repeat"].map(str::to_owned).to_vec();
    Job {
        name: format!("stream@{cpu}"),
        argv,
        setup_cpus: vec![first_cpu(spec, 0)],
        begin_cpus: None,
        run_cpus: Some(vec![cpu]),
        background: true,
        placed_by_hand: false,
    }
}

/// The rows of all pairs of nodes in a run.
///
/// # Errors
/// The run does not count; the reason.
pub fn rows(spec: &Spec, ran: &Ran) -> Result<Vec<Row>, String> {
    let fail = |why: &str| format!("{}: {why}", ran.id);
    if let Some(problem) = ran.problem.as_ref().or_else(|| ran.jobs.iter().find_map(|job| job.problem.as_ref())) {
        return Err(fail(problem));
    }
    let daemon = ran.daemon.as_ref().ok_or_else(|| fail("isobar did not run"))?;
    if let Some(problem) = &daemon.problem {
        return Err(fail(problem));
    }
    let counters = ran.counters.as_ref().ok_or_else(|| fail("nothing was counted"))?;
    let rounds: Vec<Value> = daemon.log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut rows = Vec::new();
    for from in (0..spec.node.len()).filter(|node| !spec.node[*node].cpus.as_slice().is_empty()) {
        for to in 0..spec.node.len() {
            let probed = probed(&rounds, spec.node[from].id, spec.node[to].id);
            let probed = probed.ok_or_else(|| fail(&format!("fewer than {ROUNDS} probings from {from} to {to}")))?;
            let idle_ns = spec.latency.ns[from][to];
            let counted_ns = idle_ns + waits(spec, counters, from, to).map_err(|error| fail(&error))?;
            rows.push(Row { load: ran.id.clone(), from, to, idle_ns, counted_ns, probed_ns: probed });
        }
    }
    Ok(rows)
}

/// The median over the rounds of probing.
fn probed(rounds: &[Value], from: u32, to: u32) -> Option<f64> {
    let at = |round: &Value, id: u32| round["nodes"].as_array()?.iter().position(|node| *node == id);
    let one = |round: &Value| round["latency_ns"][at(round, from)?][at(round, to)?].as_f64();
    let all: Vec<f64> = rounds.iter().filter_map(one).collect();
    if all.len() < ROUNDS { None } else { median(&all) }
}

/// ns that a line waits on its way from the memory of node `to` to a CPU of node `from`, at the
/// median moment of the run.
fn waits(spec: &Spec, counters: &Counters, from: usize, to: usize) -> Result<f64, String> {
    let node = counters.nodes.get(to).ok_or_else(|| format!("nothing was counted at node {to}"))?;
    let ran_ps = num::float(counters.time_ns) * 1e3;
    let mut waited = each(node.waited_ps, node.bytes_read + node.bytes_written, node.busy_ps, ran_ps);
    for (a, b) in spec.path(to, from).map_err(|error| error.to_string())? {
        let link = counters.links.iter().find(|link| (link.from, link.to) == (u64::from(a), u64::from(b)));
        waited += link.map_or(0.0, |link| each(link.waited_ps, link.bytes, link.busy_ps, ran_ps));
    }
    Ok(waited)
}

/// The mean wait of a line in ns, from the picoseconds that all lines waited; 0 if there were no
/// lines.
///
/// Lines that come in a burst wait for each other, and a probe that measures at random times meets
/// a burst only as often as there is one. If the resource was busy for less than half of the run,
/// the mean wait is therefore multiplied by that fraction (Little's law: arrivals times their wait
/// are what waits at a random moment, in units of service).
fn each(waited_ps: u64, bytes: u64, busy_ps: u64, ran_ps: f64) -> f64 {
    let lines = bytes / LINE;
    if lines == 0 {
        return 0.0;
    }
    let busy = num::float(busy_ps) / ran_ps;
    let met = if busy < 0.5 { busy } else { 1.0 };
    met * num::float(waited_ps) / 1e3 / num::float(lines)
}

/// The rows as a table.
#[must_use]
pub fn table(machine: &str, rows: &[Row]) -> String {
    let mut text = format!("{machine}: latencies that isobar probed, and those that numasim counted, in ns\n\n");
    let _ = writeln!(
        text,
        "{:<22}{:>5}{:>8}{:>10}{:>10}{:>10}{:>12}",
        "load", "CPU", "memory", "idle", "counted", "probed", "difference"
    );
    let mut last = "";
    for row in rows {
        let load = if row.load == last { "" } else { &row.load };
        last = &row.load;
        let Row { from, to, idle_ns, counted_ns, probed_ns, .. } = row;
        let difference = format!("{:+.1} %", row.difference() * 100.0);
        let _ = writeln!(
            text,
            "{load:<22}{from:>5}{to:>8}{idle_ns:>10.0}{counted_ns:>10.0}{probed_ns:>10.0}{difference:>12}"
        );
    }
    let worst = rows.iter().map(|row| row.difference().abs()).fold(0.0, f64::max);
    let _ = writeln!(text, "\nThe largest difference is {:.1} %; the band is {:.0} %.", worst * 100.0, BAND * 100.0);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_guest::counters::{Link, Node};
    use numasim_guest::wire::{DaemonRan, JobRan};
    use numasim_lab::experiment::Scale;
    use std::collections::BTreeMap;

    fn spec() -> Spec {
        numasim_lab::machine::scaled("nehalem-2x4", Scale::default()).unwrap()
    }

    /// 1000 lines that waited 114 us in total at node 0, which was busy: 114 ns each. 100 lines
    /// over the link from it, which was busy for a tenth of the run, waited 350 ns each: 35 ns at a
    /// random moment.
    fn ran(rounds: usize) -> Ran {
        let busy_ps = 900_000_000;
        let node =
            Node { bytes_read: 60_000, bytes_written: 4_000, busy_ps, waited_ps: 114_000_000, ..Node::default() };
        let link = Link { from: 0, to: 1, bytes: 6_400, busy_ps: 100_000_000, waited_ps: 35_000_000 };
        let (nodes, links) = (vec![node, Node::default()], vec![link]);
        let counters = Counters { time_ns: 1_000_000, nodes, links, ..Counters::default() };
        let line = |_| r#"{"nodes":[0,1],"latency_ns":[[1100.0,1800.0],[1980.0,null]]}"#;
        let full = r#"{"nodes":[0,1],"latency_ns":[[1100.0,1800.0],[1980.0,1000.0]]}"#;
        let log = (0..rounds).map(line).chain(vec![full; ROUNDS]).collect::<Vec<_>>().join("\n");
        let daemon = DaemonRan { problem: None, log, errors: String::new(), cpu_seconds: None };
        Ran {
            id: "x".to_owned(),
            jobs: Vec::new(),
            seconds: 1.0,
            problem: None,
            counters: Some(counters),
            vmstat: BTreeMap::new(),
            daemon: Some(daemon),
            before: None,
        }
    }

    #[test]
    fn a_pair_is_its_idle_latency_and_what_lines_waited_on_its_way() {
        let rows = rows(&spec(), &ran(3)).unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.from, row.to, row.counted_ns, row.probed_ns)).collect();
        let expected = [(0, 0, 1114.0, 1100.0), (0, 1, 1800.0, 1800.0), (1, 0, 1949.0, 1980.0), (1, 1, 1000.0, 1000.0)];
        assert_eq!(seen, expected);
        let text = table("nehalem-2x4", &rows);
        assert!(text.contains("+1.6 %") && text.contains("The largest difference is 1.6 %"), "{text}");
    }

    #[test]
    fn a_run_that_does_not_count_says_why() {
        let message = |ran: &Ran| rows(&spec(), ran).unwrap_err();
        let mut few = ran(0);
        few.daemon.as_mut().unwrap().log = String::new();
        assert_eq!(message(&few), "x: fewer than 4 probings from 0 to 0");
        let mut ended = ran(0);
        ended.daemon.as_mut().unwrap().problem = Some("it ended".to_owned());
        assert_eq!(message(&ended), "x: it ended");
        let job = JobRan {
            name: "stream@1".to_owned(),
            background: true,
            line: None,
            problem: Some("killed".to_owned()),
            migrations: None,
            pages: None,
        };
        assert_eq!(message(&Ran { jobs: vec![job], ..ran(0) }), "x: killed");
    }

    #[test]
    fn loads_leave_the_probe_a_cpu_and_have_their_memory_on_the_first_node() {
        let order = order(&spec(), 2.0);
        let seats = |run: &Run| {
            let job = |job: &Job| (job.name.clone(), job.setup_cpus[0], job.run_cpus.clone().unwrap()[0]);
            run.jobs.iter().map(job).collect::<Vec<_>>()
        };
        let named = |cpu| (format!("stream@{cpu}"), 0, cpu);
        let clock = ("timer".to_owned(), 7, 7);
        assert_eq!(seats(&order.runs[0]), std::slice::from_ref(&clock));
        assert_eq!(seats(&order.runs[1]), [named(1), named(2), named(3), clock.clone()]);
        assert_eq!(seats(&order.runs[2]), [named(5), named(6), clock]);
        let allowed = |run: &Run| run.regime.daemon.as_ref().unwrap().argv[..4].join(" ");
        assert_eq!(allowed(&order.runs[0]), "taskset -c 0,1,2,3,4,5,6,7 /bin/isobar");
        assert_eq!(allowed(&order.runs[2]), "taskset -c 0,1,2,3,4,7 /bin/isobar");
    }
}

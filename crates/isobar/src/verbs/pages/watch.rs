//! `isobar pages PID --watch`: shows where the pages of a live process are.

use crate::failure::{bad_input, notify};
use crate::machines::linux;
use crate::machines::watched::{Kind, Loads, NotSeen, WatchReading, Watched};
use crate::report::{Live, Size};
use crate::signals::StopFlag;
use crate::text::{aligned, json_line, plain, short};
use crate::verbs::options::within;
use anyhow::Context;
use isobar_model::{CpuId, NodeId, NodeMap, Pages, Pid, Topology, num};
use serde_json::{Map, Value, json};
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

const ONE_NODE: &str = "this machine has one node";

/// How to watch a process.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// Follow a live process: show its pages by node and by mapping, without tracing it
    #[arg(long)]
    pub watch: bool,
    /// Seconds between two looks at the process, 0.1 to 86400
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = interval, requires = "watch")]
    interval: f64,
    /// Number of looks [default: 1; on a terminal without --json, until the process ends]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watch")]
    count: Option<u64>,
}

fn interval(text: &str) -> Result<f64, String> {
    within(text, 0.1..=86_400.0, "seconds from 0.1 to 86400, such as 0.5 or 2")
}

/// A look, with what is needed to show it.
struct Seen<'a> {
    pid: u32,
    /// Seconds since the first look.
    time: f64,
    look: &'a WatchReading,
    machine: &'a Topology,
    /// Share of loads from memory that other nodes served since the previous look, in per cent, as
    /// counted.
    counted: Result<f64, String>,
}

/// Watches a process until it ends or the user stops.
pub fn run(pid: u32, args: &WatchArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let machine = linux::read_topology(None)?;
    let stop = StopFlag::install().context("cannot catch signals")?;
    let of_process = |why: NotSeen| match why {
        NotSeen::Gone => bad_input(format!("process {pid}: {why}; expected a process id, as `pgrep NAME` prints it")),
        other => anyhow::anyhow!("process {pid}: {other}"),
    };
    let mut watched = Watched::new(Pid(pid)).map_err(of_process)?;
    let mut look = watched.look().map_err(of_process)?;
    let mut loads = Loads::here();
    if machine.nodes().len() < 2 {
        notify("this machine has one node: every page is on it, and no access is remote");
    }
    let live = io::stdout().is_terminal() && !json && args.count != Some(1);
    let mut picture = live.then(Live::default);
    let mut left = args.count.unwrap_or(if live { u64::MAX } else { 1 });
    let began = Instant::now();
    loop {
        let counted = counted(&mut loads, &look, &machine);
        let seen = Seen { pid, time: began.elapsed().as_secs_f64(), look: &look, machine: &machine, counted };
        show(&seen, json, picture.as_mut(), out)?;
        left -= 1;
        if left == 0 || !stop.pause(args.interval) {
            return Ok(());
        }
        look = match watched.look() {
            Ok(look) => look,
            Err(NotSeen::Gone) => {
                notify(&format!("process {pid} has ended"));
                return Ok(());
            }
            Err(why) => anyhow::bail!("process {pid}: {why}"),
        };
    }
}

fn counted(loads: &mut Loads, look: &WatchReading, machine: &Topology) -> Result<f64, String> {
    if machine.nodes().len() < 2 {
        return Err(ONE_NODE.to_owned());
    }
    loads.look(look.threads.keys().copied())?.remote_percent()
}

fn show(seen: &Seen<'_>, json: bool, live: Option<&mut Live>, out: &mut dyn Write) -> io::Result<()> {
    match live {
        _ if json => writeln!(out, "{}", json_line(&document(seen)))?,
        None => writeln!(out, "{}", table(seen).join("\n"))?,
        Some(live) => {
            write!(out, "{}", live.draw(&table(seen), Size::of_terminal()))?;
        }
    }
    out.flush()
}

impl Seen<'_> {
    fn nodes(&self) -> Vec<NodeId> {
        self.machine.nodes().iter().map(|node| node.id).collect()
    }

    fn remote(&self) -> Result<f64, &'static str> {
        if self.machine.nodes().len() < 2 {
            return Err(ONE_NODE);
        }
        let node_of = |id: CpuId| self.machine.cpus().iter().find(|cpu| cpu.id == id)?.node;
        self.look.expected_remote(node_of)
    }

    /// The pages of all mappings, then of each kind of mapping.
    fn rows(&self) -> Vec<(&'static str, NodeMap<Pages>)> {
        let kinds = self.look.mappings.iter().map(|(kind, pages): (&Kind, _)| (kind.name(), pages.clone()));
        std::iter::once(("all", self.look.pages())).chain(kinds).collect()
    }

    fn counts(&self, pages: &NodeMap<Pages>) -> Vec<u64> {
        self.nodes().iter().map(|node| pages.get(*node).map_or(0, |pages| pages.0)).collect()
    }
}

fn document(seen: &Seen<'_>) -> Value {
    let kinds: Map<String, Value> =
        seen.rows().iter().skip(1).map(|(kind, pages)| ((*kind).to_owned(), json!(seen.counts(pages)))).collect();
    let remote = seen.remote();
    json!({
        "time": (seen.time * 1000.0).round() / 1000.0,
        "pid": seen.pid,
        "name": seen.look.name,
        "nodes": seen.nodes(),
        "pages": seen.counts(&seen.look.pages()),
        "mappings": kinds,
        "threads": seen.look.threads.len(),
        "remote_percent": seen.counted.as_ref().ok(),
        "remote_missing": seen.counted.as_ref().err(),
        "expected_remote_percent": remote.ok(),
        "expected_remote_missing": remote.err(),
    })
}

fn table(seen: &Seen<'_>) -> Vec<String> {
    let name = short(&plain(&seen.look.name), 20);
    let threads = crate::text::plural(seen.look.threads.len() as u64, "thread");
    let mut lines =
        vec![format!("{:.1} s: process {} ({name}), {threads}; resident pages by node", seen.time, seen.pid)];
    let mut rows = vec![
        std::iter::once(String::new())
            .chain(seen.nodes().iter().map(|node| format!("node {node}")))
            .chain(["all".to_owned(), "most on".to_owned()])
            .collect::<Vec<_>>(),
    ];
    rows.extend(seen.rows().iter().map(|(kind, pages)| row(kind, &seen.nodes(), &seen.counts(pages))));
    lines.extend(aligned(&rows, &[0, rows[0].len() - 1]).iter().map(|line| format!("  {line}")));
    lines.push(match &seen.counted {
        Ok(remote) => format!("  remote loads from memory, counted: {remote:.0} %"),
        Err(why) => format!("  remote loads from memory: not counted, {why}"),
    });
    lines.push(match seen.remote() {
        Ok(remote) => format!("  remote accesses, if every thread accessed every page equally: {remote:.0} %"),
        Err(why) => format!("  remote accesses: not known, {why}"),
    });
    lines
}

fn row(kind: &str, nodes: &[NodeId], counts: &[u64]) -> Vec<String> {
    let all: u64 = counts.iter().fold(0, |sum, count| sum.saturating_add(*count));
    let most = nodes.iter().zip(counts).max_by_key(|(node, count)| (**count, std::cmp::Reverse(**node)));
    let share = |count: u64| num::float(count) / num::float(all.max(1)) * 100.0;
    let most = most.filter(|_| all > 0).map(|(node, count)| format!("node {node} ({:.0} %)", share(*count)));
    std::iter::once(kind.to_owned())
        .chain(counts.iter().map(ToString::to_string))
        .chain([all.to_string(), most.unwrap_or_else(|| "-".to_owned())])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::watched::WatchedThread;
    use isobar_model::topology::synthetic::synthetic;

    fn seen<'a>(time: f64, look: &'a WatchReading, machine: &'a Topology, counted: Result<f64, &str>) -> Seen<'a> {
        Seen { pid: 7, time, look, machine, counted: counted.map_err(str::to_owned) }
    }

    fn look(ticks: u64) -> WatchReading {
        let pages = |on: [u64; 2]| (0..).map(NodeId).zip(on.map(Pages)).collect::<NodeMap<Pages>>();
        WatchReading {
            name: "matmul".into(),
            mappings: [(Kind::Heap, pages([300, 100])), (Kind::Stack, pages([1, 0]))].into(),
            threads: [(7, WatchedThread { cpu: Some(CpuId(1)), ticks })].into(),
        }
    }

    #[test]
    fn a_look_is_a_table_or_a_document() {
        let (machine, look) = (synthetic("node:2 core:1").unwrap(), look(4));
        let seen = seen(2.0, &look, &machine, Ok(61.2));
        let drawn = table(&seen).join("\n");
        assert_eq!(
            drawn,
            "2.0 s: process 7 (matmul), 1 thread; resident pages by node\n         node 0  node 1  all  most \
             on\n  all       301     100  401  node 0 (75 %)\n  heap      300     100  400  node 0 (75 %)\n  \
             stack       1       0    1  node 0 (100 %)\n  remote loads from memory, counted: 61 %\n  remote \
             accesses, if every thread accessed every page equally: 75 %"
        );
        let json = document(&seen);
        assert_eq!((&json["pages"], &json["mappings"]["heap"]), (&json!([301, 100]), &json!([300, 100])));
        assert!(json["expected_remote_missing"].is_null() && json["expected_remote_percent"].is_f64());
        assert!(json["remote_missing"].is_null() && json["remote_percent"] == 61.2);
    }

    #[test]
    fn what_is_not_known_has_its_reason() {
        let (machine, idle) = (synthetic("node:2 core:1").unwrap(), look(0));
        let json = document(&seen(0.0, &idle, &machine, Err("no such counters")));
        assert_eq!((&json["remote_percent"], &json["remote_missing"]), (&json!(null), &json!("no such counters")));
        assert!(json["expected_remote_percent"].is_null());
        assert!(json["expected_remote_missing"].as_str().unwrap().contains("used a CPU"));
        let one = synthetic("node:1 core:2").unwrap();
        let drawn = table(&seen(0.0, &idle, &one, Err(ONE_NODE))).join("\n");
        assert!(drawn.ends_with("not known, this machine has one node"), "{drawn}");
    }
}

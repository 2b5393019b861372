//! Shows the busiest processes as a small table of what can be measured on any machine. A cell
//! whose value was not measured says so.

use crate::report::{AppTruth, Truth};
use crate::text::{aligned, plural, short, width};
use isobar_model::{Mpki, Observation, Process, Topology, num};

const NAME_WIDTH: usize = 20;
const NOT_MEASURED: &str = "not measured";

/// The columns that are left out on a narrow terminal, in this order: pages, threads, managed, LLC
/// MPKI. Each index counts the columns that are left.
const SPARE: [usize; 4] = [5, 3, 3, 3];

/// A header and one line for each of the busiest processes, at most `most`, with aligned columns.
/// `managed` is the part that the policy acts on. If `columns` gives the width of a terminal,
/// columns of the table are left out until the rest fits.
pub fn busiest(seen: &Observation, managed: &Observation, most: usize, columns: Option<usize>) -> Vec<String> {
    let mut processes: Vec<(&Process, f64)> =
        seen.processes.iter().map(|process| (process, cpu_share(process, seen).unwrap_or(0.0))).collect();
    // An idle process says nothing about the machine. If no process was busy, the table lists the
    // idle ones.
    if processes.iter().any(|(_, share)| *share > 0.0) {
        processes.retain(|(_, share)| *share > 0.0);
    }
    processes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.pid.cmp(&b.0.pid)));
    let mut rows = vec![heading(&seen.machine)];
    rows.extend(processes.iter().take(most).map(|(process, _)| row(process, seen, managed)));
    let mut lines = match columns {
        Some(columns) => fitted(rows, columns),
        None => aligned(&rows, &[1]),
    };
    let rest = processes.len().saturating_sub(most);
    lines.extend((rest > 0).then(|| format!("and {rest} more")));
    lines
}

/// The rows with as many of their columns as fit.
fn fitted(mut rows: Vec<Vec<String>>, columns: usize) -> Vec<String> {
    let fits = |lines: &[String]| lines.iter().all(|line| width(line) <= columns);
    for spare in SPARE {
        let lines = aligned(&rows, &[1]);
        if fits(&lines) {
            return lines;
        }
        rows.iter_mut().for_each(|row| drop(row.remove(spare)));
    }
    aligned(&rows, &[1]).iter().map(|line| short(line, columns)).collect()
}

fn heading(machine: &Topology) -> Vec<String> {
    let nodes: Vec<String> = machine.nodes().iter().map(|node| node.id.to_string()).collect();
    let pages = format!("resident pages on node {}", nodes.join(" / "));
    ["pid", "name", "cpu %", "threads", "managed", &pages, "LLC MPKI"].map(str::to_owned).to_vec()
}

fn row(process: &Process, seen: &Observation, managed: &Observation) -> Vec<String> {
    let managed = managed.process(process.pid).map_or(0, |other| other.threads.len());
    let unmeasured = || NOT_MEASURED.to_owned();
    vec![
        process.pid.to_string(),
        named(process),
        cpu_share(process, seen).map_or_else(unmeasured, |share| format!("{:.1}", share * 100.0)),
        process.threads.len().to_string(),
        managed.to_string(),
        pages_by_node(process, &seen.machine).unwrap_or_else(unmeasured),
        mpki(process).map_or_else(unmeasured, |mpki| format!("{:.2}", mpki.0)),
    ]
}

/// The name of a process; for a virtual machine also how many of its threads are virtual CPUs.
fn named(process: &Process) -> String {
    let name = short(&process.name, NAME_WIDTH);
    if !process.is_vm() {
        return name;
    }
    let vcpus = process.threads.iter().filter(|thread| thread.vcpu).count();
    format!("{name} (VM, {})", plural(vcpus, "vCPU"))
}

/// How the applications of a simulated workload ended: heading, table, measures.
pub fn truth(truth: &Truth) -> Vec<String> {
    if truth.apps.iter().all(|app| app.completed == 0) {
        let line = "slowdowns are known once a program completes, and none has yet: run longer";
        return vec![line.to_owned()];
    }
    let mut rows =
        vec![["completed", "application", "alone s", "in this run s", "slowdown"].map(str::to_owned).to_vec()];
    rows.extend(truth.apps.iter().map(app));
    let mut lines = vec![
        "what the simulated machine knows and no policy sees (completion times, slowdown 1 = undisturbed):".to_owned(),
    ];
    lines.extend(aligned(&rows, &[1]));
    lines.push(truth.summary.map_or_else(
        || "unfairness, STP and ANTT need one completed run of each program: run longer".to_owned(),
        |all| {
            format!(
                "unfairness {:.3} (greatest / least slowdown), STP {:.3} of {}, ANTT {:.3} (mean slowdown), \
                 unfairness CoV {:.3}",
                all.unfairness,
                all.stp,
                truth.apps.len(),
                all.antt,
                all.unfairness_cov
            )
        },
    ));
    lines
}

fn app(app: &AppTruth) -> Vec<String> {
    let seconds = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}"));
    vec![
        app.completed.to_string(),
        short(&app.name, NAME_WIDTH),
        seconds(app.alone_seconds),
        seconds(app.seconds),
        app.slowdown.map_or_else(|| "not yet known".to_owned(), |slowdown| format!("{slowdown:.3}")),
    ]
}

/// CPU time divided by the interval, over the threads whose CPU time was measured.
fn cpu_share(process: &Process, seen: &Observation) -> Option<f64> {
    let times: Vec<f64> = process.threads.iter().filter_map(|thread| thread.cpu_time).map(|time| time.0).collect();
    (!times.is_empty() && seen.interval.0 > 0.0).then(|| times.iter().sum::<f64>() / seen.interval.0)
}

fn pages_by_node(process: &Process, machine: &Topology) -> Option<String> {
    let pages = process.pages.as_ref()?;
    let on = |node: &isobar_model::topology::Node| pages.get(node.id).map_or(0, |pages| pages.0).to_string();
    Some(machine.nodes().iter().map(on).collect::<Vec<_>>().join(" / "))
}

/// Misses divided by instructions, over the threads for which both were measured.
fn mpki(process: &Process) -> Option<Mpki> {
    let both = |thread: &isobar_model::Thread| thread.llc_misses.zip(thread.instructions);
    let counted: Vec<(u64, u64)> = process.threads.iter().filter_map(both).collect();
    let (misses, instructions) = counted
        .iter()
        .fold((0.0, 0.0), |(misses, instructions), (m, i)| (misses + num::float(*m), instructions + num::float(*i)));
    (instructions > 0.0).then(|| Mpki(misses * 1000.0 / instructions))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(name: &str) -> Vec<Vec<String>> {
        let row = |cells: [&str; 7]| cells.map(str::to_owned).to_vec();
        vec![
            row(["pid", "name", "cpu %", "threads", "managed", "resident pages on node 0 / 1", "LLC MPKI"]),
            row(["10", name, "200.0", "2", "2", "300 / 100", "25.00"]),
        ]
    }

    #[test]
    fn wide_characters_keep_the_columns() {
        let lines = aligned(&rows("数据库🦀"), &[1]);
        assert_eq!(lines[1], " 10  数据库🦀  200.0        2        2                     300 / 100     25.00");
        let cpu = |line: &str| width(&line[..line.find(if line.contains("cpu") { "cpu %" } else { "200.0" }).unwrap()]);
        assert_eq!(cpu(&lines[0]), cpu(&lines[1]));
    }

    #[test]
    fn a_narrow_terminal_goes_without_some_columns() {
        let heading = |columns| fitted(rows("mcf"), columns)[0].clone();
        assert_eq!(heading(80), "pid  name  cpu %  threads  managed  resident pages on node 0 / 1  LLC MPKI");
        assert_eq!(heading(60), "pid  name  cpu %  threads  managed  LLC MPKI");
        assert_eq!(heading(40), "pid  name  cpu %  managed  LLC MPKI");
        assert_eq!(heading(30), "pid  name  cpu %  LLC MPKI");
        assert_eq!(heading(17), "pid  name  cpu %");
        for columns in 0..90 {
            assert!(fitted(rows("数据库🦀 and more"), columns).iter().all(|line| width(line) <= columns));
        }
    }
}

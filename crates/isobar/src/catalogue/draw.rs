//! The simulator's machines and programs as text: sentences, tables and curves, at most 110 columns
//! wide.

use super::plot::{Axes, plot};
use super::{Catalogue, MachineFacts, ProgramFacts};
use crate::text::{plain, plural, short};
use isobar_model::num;
use isobar_sim::solo::Solo;
use std::fmt::Write;

const MIB: f64 = 1_048_576.0;
const GIGA: f64 = 1e9;

/// The lists of `isobar sim --list`.
#[must_use]
pub fn list(all: &Catalogue) -> String {
    let mut text = String::from("Machines\n\n");
    let _ = writeln!(text, "  {:<15}{:>5}{:>6}{:>6}{:>10}{:>6}", "name", "nodes", "LLCs", "CPUs", "MiB", "ways");
    for machine in &all.machines {
        let mib = or_dash(machine.llc_bytes.map(|bytes| num::float(bytes) / MIB), 1);
        let ways = machine.ways.map_or_else(|| "-".to_owned(), |ways| ways.to_string());
        let _ = write!(text, "  {:<15}{:>5}{:>6}{:>6}", machine.name, machine.nodes, machine.llcs, machine.cpus);
        let _ =
            writeln!(text, "{mib:>10}{ways:>6}  {}", short(machine.title.split(": ").next().unwrap_or_default(), 58));
    }
    let mut suite = "";
    for program in &all.programs {
        if program.suite != suite {
            let _ = writeln!(text, "\n{}, each alone on {}\n", program.suite, program.machine);
            let _ = writeln!(
                text,
                "  {:<16}{:<12}{:>8}{:>8}{:>10}{:>9}",
                "name", "class", "MPKI", "IPC", "penalty", "threads"
            );
            suite = &program.suite;
        }
        let class = program.class.unwrap_or("-");
        let [mpki, ipc, penalty] = numbers(program.solo);
        let phases = if program.phases > 0 { format!("  {}", plural(program.phases, "phase")) } else { String::new() };
        let _ = write!(text, "  {:<16}{class:<12}{mpki:>8}{ipc:>8}{penalty:>10}", program.name);
        let _ = writeln!(text, "{:>9}{phases}", program.threads);
    }
    text.push_str(
        "\nclass: turtle below 2 misses per 1000 instructions (MPKI), devil up to 100, super-devil above (DINO, 3.3.2);\n\
         penalty: CPI with memory on the nearest other node over CPI with local memory (N-MASS, 3.2).\n\
         `isobar sim --describe NAME` shows one of them, with the source of every number.\n",
    );
    text
}

fn numbers(solo: Option<Solo>) -> [String; 3] {
    let Some(solo) = solo else { return ["-", "-", "-"].map(str::to_owned) };
    [format!("{:.2}", solo.mpki), format!("{:.2}", solo.ipc), or_dash(solo.numa_penalty, 2)]
}

/// A figure with this number of decimals; `-` if it is unknown.
fn or_dash(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.decimals$}"))
}

/// The description of a program: its miss curve, its figures when it runs alone, its parameters.
#[must_use]
pub fn program(facts: &ProgramFacts) -> String {
    let from = facts.suite.as_deref().unwrap_or("your own file");
    let mut text = format!("{}: a program of {from}\n\n", plain(&facts.name));
    let points = facts.curve.iter().map(|point| (point.bytes / MIB, point.mpki)).collect();
    let title = "LLC misses per 1000 instructions over LLC space";
    text.push_str(&plot(&Axes { title, x_unit: "MiB" }, &[points]));
    if let Some(measured) = &facts.measured {
        let values: Vec<_> = measured.mpki_by_ways.iter().map(|mpki| format!("{mpki:.2}")).collect();
        let _ = writeln!(text, "\nas measured, by ways of {:.2} MiB: {}", measured.way_bytes / MIB, values.join(" "));
    }
    facts.notes.iter().for_each(|note| _ = writeln!(text, "note: {}", plain(note)));
    alone(&mut text, facts);
    for phase in &facts.phases {
        let _ = writeln!(
            text,
            "  phase of {:.1} billion instructions, misses x {}",
            phase.instructions / GIGA,
            phase.mpki_factor
        );
    }
    match &facts.text {
        Some(section) => _ = writeln!(text, "\nIts definition, with the source of every number:\n\n{section}"),
        None => parameters(&mut text, facts),
    }
    text
}

fn alone(text: &mut String, facts: &ProgramFacts) {
    let Some(solo) = facts.solo else {
        text.push_str("\nalone: does not end\n");
        return;
    };
    let [mpki, ipc, penalty] = numbers(Some(solo));
    let _ = writeln!(
        text,
        "\nalone on {} ({:.1} MiB LLC), one thread: {mpki} MPKI ({}), IPC {ipc}, {:.2} GB/s, NUMA penalty {penalty}",
        facts.machine,
        facts.llc_bytes / MIB,
        facts.class.unwrap_or("-"),
        solo.bandwidth / GIGA
    );
}

fn parameters(text: &mut String, facts: &ProgramFacts) {
    let _ = writeln!(
        text,
        "CPI without misses {:.3}, {:.2} misses in flight, {:.2} lines prefetched for each, {:.2} written \
         for each read, {:.0} MiB, {}",
        facts.base_cpi,
        facts.mlp,
        facts.prefetch,
        facts.write_back,
        facts.footprint_bytes / MIB,
        plural(facts.threads, "thread")
    );
}

/// The description of a machine: its shape, its links, its latencies idle and under load.
#[must_use]
pub fn machine(facts: &MachineFacts) -> String {
    let mut text = format!("{}: {}\n{:.2} GHz, ", plain(&facts.name), plain(&facts.title), facts.clock_hertz / GIGA);
    text.push_str(&facts.drawing);
    links(&mut text, facts);
    latencies(&mut text, facts);
    under_load(&mut text, facts);
    text.push_str("\nIts file:\n\n");
    facts.text.lines().for_each(|line| _ = writeln!(text, "{}", plain(line)));
    text
}

fn links(text: &mut String, facts: &MachineFacts) {
    text.push_str("\nLinks, GB/s each way\n\n");
    let mut links: Vec<_> = facts.links.iter().filter(|(from, to, _)| from < to).collect();
    links.sort_by_key(|link| (link.0, link.1));
    let words: Vec<_> = links.iter().map(|(a, b, rate)| format!("{a}-{b}: {:.1}", rate / GIGA)).collect();
    words.chunks(6).for_each(|row| _ = writeln!(text, "  {}", row.join("   ")));
    if words.is_empty() {
        text.push_str("  none\n");
    }
}

fn latencies(text: &mut String, facts: &MachineFacts) {
    text.push_str("\nIdle latency in ns, row = the CPU's node, column = the memory's\n\n");
    let _ = write!(text, "  {:>4}", "");
    facts.node_ids.iter().for_each(|id| _ = write!(text, "{id:>8}"));
    text.push('\n');
    for (id, row) in facts.node_ids.iter().zip(&facts.latency_ns) {
        let _ = write!(text, "  {id:>4}");
        row.iter().for_each(|ns| _ = write!(text, "{ns:>8.1}"));
        text.push('\n');
    }
}

fn under_load(text: &mut String, facts: &MachineFacts) {
    let most = facts.load.first().and_then(|load| load.local_ns).unwrap_or_default() * 4.0;
    let points = facts.load.iter().filter_map(|load| Some((load.bandwidth / GIGA, load.local_ns?)));
    let seen: Vec<_> = points.filter(|point| point.1 <= most).collect();
    let first = facts.node_ids.first().copied().unwrap_or_default();
    let title = format!("\nLatency in ns of memory of node {first} against its load, from its own CPUs");
    text.push_str(&plot(&Axes { title: &title, x_unit: "GB/s" }, &[seen]));
    let remote = facts.remote_node.map_or_else(String::new, |id| format!(", and of node {id} at the same load"));
    let _ = writeln!(text, "\nThe same in numbers{remote} (-: a link would be full)\n");
    let _ = writeln!(text, "  {:>6}{:>10}{:>12}{:>12}", "load", "GB/s", "local ns", "remote ns");
    for load in &facts.load {
        let (local, remote) = (or_dash(load.local_ns, 1), or_dash(load.remote_ns, 1));
        let _ = writeln!(
            text,
            "  {:>4.0} %{:>10.2}{local:>12}{remote:>12}",
            100.0 * load.utilisation,
            load.bandwidth / GIGA
        );
    }
}

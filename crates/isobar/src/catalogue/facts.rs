//! Collects the facts about the simulator's machines and programs that are printed.

use super::{Catalogue, Load, MachineFacts, MachineLine, Measured, Phase, Point, ProgramFacts, ProgramLine};
use crate::failure::bad_input;
use crate::input;
use isobar_model::{NodeId, num};
use isobar_sim::machine::{self, MachineSpec};
use isobar_sim::program::{self, MissCurve, Program, ProgramFile};
use isobar_sim::solo;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const MIB: f64 = 1_048_576.0;
/// A curve is drawn up to this cache size, or up to the size of the LLC if that is larger.
const CURVE_MIB: f64 = 32.0;
/// Points of a curve, not counting the one at size 0.
const POINTS: u32 = 64;
/// The machine whose LLC is used to describe a user's own program.
const OWN_PROGRAMS_ON: &str = "skylake-2x20";
/// Loads at which latencies are shown, as fractions of the bandwidth of a node's memory
/// controllers.
const LOADS: [f64; 13] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97];

/// Every machine and program that ships with the simulator.
///
/// # Errors
/// None for the files that ship.
pub fn all() -> anyhow::Result<Catalogue> {
    let names = machine::shipped();
    let machines: BTreeMap<_, _> = names.iter().map(|name| Ok((*name, spec(name)?))).collect::<anyhow::Result<_>>()?;
    let lines = machines.iter().map(|(name, spec)| machine_line(name, spec)).collect();
    let mut programs = Vec::new();
    for suite in program::suites()? {
        let on =
            machines.get(suite.machine.as_str()).map_or_else(|| spec(&suite.machine), |found| Ok(Arc::clone(found)))?;
        let line = |program: Program| program_line(&suite.suite, &suite.machine, &on, &Arc::new(program));
        programs.extend(suite.program.into_iter().map(line));
    }
    Ok(Catalogue { machines: lines, programs })
}

fn spec(name: &str) -> anyhow::Result<Arc<MachineSpec>> {
    Ok(Arc::new(machine::find(name)?))
}

fn machine_line(name: &str, spec: &MachineSpec) -> MachineLine {
    let topology = &spec.topology;
    let llc = topology.llcs().first();
    MachineLine {
        name: name.to_owned(),
        title: title(machine::text(name).unwrap_or_default()),
        nodes: topology.nodes().len(),
        llcs: topology.llcs().len(),
        cpus: topology.cpus().len(),
        llc_bytes: llc.and_then(|llc| Some(llc.size?.0)),
        ways: llc.and_then(|llc| Some(llc.ways?.0)),
    }
}

/// The first sentence of a machine's file.
fn title(text: &str) -> String {
    let head: Vec<_> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
    let joined = head.join(" ");
    joined.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

fn program_line(suite: &str, name: &str, on: &Arc<MachineSpec>, program: &Arc<Program>) -> ProgramLine {
    let alone = solo::solo(program, on);
    ProgramLine {
        suite: suite.to_owned(),
        machine: name.to_owned(),
        class: alone.map(|alone| class(alone.mpki)),
        solo: alone,
        threads: program.threads,
        phases: u32::try_from(program.phase.len()).unwrap_or(u32::MAX),
        name: program.name.clone(),
    }
}

/// The classes of DINO, section 3.3.2.
fn class(mpki: f64) -> &'static str {
    match mpki {
        mpki if mpki < 2.0 => "turtle",
        mpki if mpki <= 100.0 => "devil",
        _ => "super-devil",
    }
}

/// A machine that ships; `None` if none has this name.
///
/// # Errors
/// None for the files that ship.
pub fn machine(name: &str) -> anyhow::Result<Option<MachineFacts>> {
    let Some(text) = machine::text(name) else { return Ok(None) };
    Ok(Some(machine_facts(name, text, &machine::find(name)?)))
}

fn machine_facts(name: &str, text: &str, spec: &MachineSpec) -> MachineFacts {
    let nodes: Vec<_> = spec.topology.nodes().iter().map(|node| node.id).collect();
    let remote = nearest(spec, &nodes);
    let at = |to: NodeId, load| spec.latency_under_load(nodes[0], to, load).map(|ns| ns.0);
    let most = spec.topology.nodes()[0].max_bandwidth.map_or(0.0, |most| most.0);
    let load = |utilisation: &f64| Load {
        utilisation: *utilisation,
        bandwidth: utilisation * most,
        local_ns: at(nodes[0], *utilisation),
        remote_ns: remote.and_then(|remote| at(remote, *utilisation)),
    };
    MachineFacts {
        name: name.to_owned(),
        title: title(text),
        clock_hertz: spec.hertz,
        drawing: crate::topo::draw(&spec.topology, crate::terminal::columns()),
        topology: crate::topo::json(&spec.topology),
        links: spec.links().iter().map(|link| (link.from.0, link.to.0, link.bandwidth.0)).collect(),
        latency_ns: spec.idle_latency().iter().map(|row| row.iter().map(|ns| ns.0).collect()).collect(),
        node_ids: nodes.iter().map(|id| id.0).collect(),
        remote_node: remote.map(|id| id.0),
        load: LOADS.iter().map(load).collect(),
        text: text.to_owned(),
    }
}

/// The node with the lowest latency from the first node, other than the first node itself.
fn nearest(spec: &MachineSpec, nodes: &[NodeId]) -> Option<NodeId> {
    let row = spec.idle_latency().into_iter().next()?;
    let others = nodes.iter().zip(row).skip(1);
    others.min_by(|a, b| a.1.0.total_cmp(&b.1.0)).map(|(id, _)| *id)
}

/// A program that ships; `None` if none has this name.
///
/// # Errors
/// None for the files that ship.
pub fn program(name: &str) -> anyhow::Result<Option<ProgramFacts>> {
    for suite in program::suites()? {
        if let Some(found) = suite.program.into_iter().find(|program| program.name == name) {
            let text = program::text(name);
            return program_facts(Some(suite.suite), &suite.machine, &Arc::new(found), text).map(Some);
        }
    }
    Ok(None)
}

/// What a user's own file describes.
pub enum Own {
    /// a machine
    Machine(MachineFacts),
    /// one of its programs
    Program(ProgramFacts),
}

/// The machine or the program that a user's own file describes.
///
/// # Errors
/// Bad input: the file cannot be read, is wrong, or has no such program.
pub fn own(file: &Path, name: Option<&str>) -> anyhow::Result<Own> {
    let path = file.display().to_string();
    let text = input::described(file).map_err(|error| bad_input(format!("{path}: cannot be read: {error}")))?;
    if text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("node") || table.contains_key("latency")) {
        let spec = MachineSpec::from_toml(&path, &text).map_err(bad_input)?;
        return Ok(Own::Machine(machine_facts(&path, &text, &spec)));
    }
    let program = ProgramFile { path: &path, text: &text }.program(name, None).map_err(bad_input)?;
    program_facts(None, OWN_PROGRAMS_ON, &Arc::new(program), None).map(Own::Program)
}

/// Names of all machines and programs that ship.
///
/// # Errors
/// None for the files that ship.
pub fn names() -> anyhow::Result<Vec<String>> {
    let programs = program::shipped()?;
    Ok(machine::shipped().into_iter().chain(programs.names()).map(str::to_owned).collect())
}

fn program_facts(
    suite: Option<String>,
    machine: &str,
    program: &Arc<Program>,
    text: Option<String>,
) -> anyhow::Result<ProgramFacts> {
    let on = spec(machine)?;
    let solo = solo::solo(program, &on);
    let llc = on.topology.llcs().first().and_then(|llc| llc.size).map_or(0.0, |size| num::float(size.0));
    let phase = |phase: &program::Phase| Phase {
        instructions: phase.instructions_billion * 1e9,
        mpki_factor: phase.mpki_factor,
    };
    Ok(ProgramFacts {
        name: program.name.clone(),
        suite,
        machine: machine.to_owned(),
        llc_bytes: llc,
        class: solo.map(|solo| class(solo.mpki)),
        solo,
        base_cpi: program.base_cpi,
        mlp: program.mlp,
        prefetch: program.prefetch,
        write_back: program.write_back,
        footprint_bytes: program.footprint_mib * MIB,
        threads: program.threads,
        shared: program.shared,
        phases: program.phase.iter().map(phase).collect(),
        curve: curve(&program.mpki, llc),
        measured: measured(&program.mpki),
        notes: program.notes(),
        text,
    })
}

fn curve(curve: &MissCurve, llc: f64) -> Vec<Point> {
    let most = match curve {
        MissCurve::Measured(table) => num::float_len(table.by_ways().len()) * table.way_mib() * MIB,
        MissCurve::Parametric(_) => llc.max(CURVE_MIB * MIB),
    };
    let point = |step: u32| {
        let bytes = most * f64::from(step) / f64::from(POINTS);
        Point { bytes, mpki: 1000.0 * curve.misses(bytes) }
    };
    (0..=POINTS).map(point).collect()
}

fn measured(curve: &MissCurve) -> Option<Measured> {
    match curve {
        MissCurve::Measured(table) => {
            Some(Measured { way_bytes: table.way_mib() * MIB, mpki_by_ways: table.by_ways().to_vec() })
        }
        MissCurve::Parametric(_) => None,
    }
}

//! The simulator's programs as tables: each alone on a machine with 1, 2, ... ways of its LLC, by the contention model. So a study needs no
//! measured file. One thread of each; what stalls a program beside its misses is part of its cycles, and no stall here.

use super::{Entry, Profiles, Source, profile};
use crate::study::error::StudyError;
use isobar_partition::Row;
use isobar_sim::contention::steady::Steady;
use isobar_sim::{MachineSpec, Program, machine, program};
use std::collections::BTreeMap;

/// Every program that ships, on a machine that ships.
pub(super) fn on_machine(name: &str) -> Result<Profiles, StudyError> {
    let file = format!("{}{name}", super::MACHINE);
    let machine = machine::find(name)?;
    let ways = crate::study::queueing::ways_of(&machine).unwrap_or(1);
    let library = program::shipped()?;
    let mut programs = BTreeMap::new();
    for name in library.names() {
        let program = library.find(&file, "program", name)?;
        let rows = rows(&program, &machine, ways);
        let profile = profile(&file, name, rows)?;
        programs.insert(name.to_owned(), Entry { profile, source: Source::Program(program) });
    }
    Ok(Profiles { file, programs, notes: Vec::new() })
}

fn rows(program: &Program, machine: &MachineSpec, ways: usize) -> Vec<Row> {
    let steady = Steady::new(machine, None, &[program]);
    let row = |ways: usize| {
        let pace = steady.alone(0, ways);
        let cycles = pace.seconds * machine.hertz;
        let stalled = (1.0 - program.base_cpi / cycles).clamp(0.0, 1.0);
        Row {
            ipc: 1.0 / cycles,
            llcmpki: 1000.0 * pace.misses,
            llcmpkc: 1000.0 * pace.misses / cycles,
            bandwidth_mbps: pace.bandwidth / 1e6,
            stalls_total: stalled,
            stalls_l3_miss: stalled,
            stalls_store_buf: 0.0,
        }
    };
    (1..=ways).map(row).collect()
}

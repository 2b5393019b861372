//! Makes the simulator's programs available to a study. As tables: each program runs alone on a
//! machine with 1, 2, ... ways of its LLC under the contention model, so that a study needs no
//! measured file. As programs: those that the queueing model computes with. Each program has one
//! thread. Stalls for other reasons than misses are part of a program's cycles and are not counted
//! as stalls here.

use crate::error::StudyError;
use crate::workloads::unknown;
use isobar_model::num;
use isobar_model::profile::{Profile, Row};
use isobar_profiles::Profiles;
use isobar_sim::{MachineSpec, Program, SimError, machine, program, steady};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Prefix of `--profiles` that names a machine of the simulator instead of a file.
pub const MACHINE: &str = "machine:";

/// The simulator's programs, each run alone on a shipped machine with every number of its ways.
///
/// # Errors
/// [`StudyError::Sim`] for a machine that is not shipped.
pub fn of_machine(name: &str) -> Result<Profiles, StudyError> {
    let file = format!("{MACHINE}{name}");
    let machine = machine::find(name)?;
    let ways = ways_of(&machine).unwrap_or(1);
    let library = program::shipped()?;
    let profile = |name: &str| {
        let program = library.find(&file, "program", name)?;
        Profile::new(name, rows(&program, &machine, ways)?)
            .map_err(|cause| StudyError::Figures { file: file.clone(), cause })
    };
    let profiles = library.names().map(profile).collect::<Result<Vec<_>, _>>()?;
    Ok(Profiles::new(&file, profiles))
}

/// Programs for the queueing model; `machine` is the machine on which a table was measured.
///
/// # Errors
/// [`StudyError`] for a program that is missing, that has only slowdowns, or whose table has more
/// ways than the machine.
pub(crate) fn programs(
    profiles: &Profiles,
    names: &BTreeSet<&String>,
    machine: &MachineSpec,
) -> Result<BTreeMap<String, Arc<Program>>, StudyError> {
    let file = profiles.file();
    let shipped = file.starts_with(MACHINE).then(program::shipped).transpose()?;
    let one = |name: &&String| match &shipped {
        Some(library) => Ok(library.find(file, "program", name)?),
        None => measured(profiles, name, machine).map(Arc::new),
    };
    names.iter().map(|name| Ok(((*name).clone(), one(name)?))).collect()
}

fn measured(profiles: &Profiles, name: &str, machine: &MachineSpec) -> Result<Program, StudyError> {
    let wrong = |problem: String| StudyError::file(profiles.file(), problem);
    let profile = profiles.profile(name).ok_or_else(|| wrong(unknown(name, profiles)))?;
    if profiles.is_relative(name) {
        return Err(wrong(format!(
            "`{name}` has slowdowns only, but the queueing model needs cycles and misses: give `ipc` and `llcmpki`, or \
             take --model pbbcache-simple"
        )));
    }
    let ways = ways_of(machine).unwrap_or(0);
    if profile.ways() > ways {
        return Err(wrong(format!(
            "`{name}` goes to {} ways, but the LLC of the machine has {ways}: name the machine of the measurement with \
             --machine NAME",
            profile.ways()
        )));
    }
    Ok(Program::measured(profiles.file(), profile, machine)?)
}

/// The number of ways of a machine's LLC.
fn ways_of(machine: &MachineSpec) -> Option<usize> {
    machine.topology.llcs().first()?.ways.map(|ways| num::index(ways.0))
}

fn rows(program: &Program, machine: &MachineSpec, ways: usize) -> Result<Vec<Row>, SimError> {
    let steady = steady(machine, None, &[program]);
    let row = |ways: usize| {
        let pace = steady.alone(0, ways)?;
        let cycles = pace.seconds * machine.hertz;
        let stalled = (1.0 - program.base_cpi / cycles).clamp(0.0, 1.0);
        Ok(Row {
            ipc: 1.0 / cycles,
            llcmpki: 1000.0 * pace.misses,
            llcmpkc: 1000.0 * pace.misses / cycles,
            bandwidth_mbps: pace.bandwidth / 1e6,
            stalls_total: stalled,
            stalls_l3_miss: stalled,
            ..Row::default()
        })
    };
    (1..=ways).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::profile::Property;

    #[test]
    fn the_simulator_s_programs_need_no_file() {
        let profiles = of_machine("rome-ccx-2x4").unwrap();
        let lbm = profiles.profile("lbm").unwrap();
        assert_eq!((profiles.ways(), lbm.ways()), (16, 16));
        assert!(lbm.column(Property::Slowdown).windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-8)));
        assert!((lbm.column(Property::Slowdown)[15] - 1.0).abs() < 1e-12);
        assert!(of_machine("rome").unwrap_err().to_string().contains("rome-ccx-2x4"));
    }

    #[test]
    fn slowdowns_alone_make_no_program() {
        let text = "[[program]]\nname = \"a\"\nslowdown = [2.0, 1.0]\nllcmpkc = [15, 10]\n";
        let profiles = isobar_profiles::read("p.toml", text).unwrap();
        let machine = machine::find("skylake-2x20").unwrap();
        let said = programs(&profiles, &[&"a".to_owned()].into(), &machine).unwrap_err().to_string();
        assert!(said.starts_with("p.toml: `a` has slowdowns only"), "{said}");
        assert!(said.contains("--model pbbcache-simple"), "{said}");
    }
}

//! A program as the study needs it: its trace, and the cost of its accesses. `programs.toml`
//! describes how it spreads its accesses over pages; everything else comes from the simulator's
//! program of the same name.

use super::spec::{HERTZ, LATENCY_NS, LLC_BYTES, SHOOTDOWN_CYCLES, Spec};
use crate::error::LabError;
use isobar_model::num;
use isobar_pages::synthetic::{Pattern, Recipe, Zone};
use isobar_sim::Program;
use isobar_sim::program::Library;
use serde::Deserialize;

const FILE: &str = "sra/programs.toml";
const TEXT: &str = include_str!("programs.toml");
const NANO: f64 = 1e-9;
/// The zones' shares must add up to 1 within this tolerance.
const ROUNDING: f64 = 1e-6;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    program: Vec<Spread>,
}

/// How a program spreads its accesses over its pages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spread {
    name: String,
    zone: Vec<Part>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    memory: f64,
    accesses: f64,
    lines: u32,
    pattern: Pattern,
    #[serde(default)]
    shared: bool,
}

/// A program under study.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub name: String,
    pub recipe: Recipe,
    /// Accesses of all its threads per second if all memory is local.
    pub accesses_per_second: f64,
    /// Additional seconds that a thread waits for a remote access compared with a local one.
    pub remote_seconds: f64,
}

impl Subject {
    /// Seconds of all threads together, for the given remote accesses and page moves.
    pub(super) fn thread_seconds(&self, remote: f64, moves: f64) -> f64 {
        let threads = f64::from(self.recipe.threads);
        let local = num::float(self.recipe.accesses) / self.accesses_per_second * threads;
        let flush = SHOOTDOWN_CYCLES / HERTZ * threads * threads;
        local + remote * self.remote_seconds + moves * flush
    }
}

/// The programs with these names, in this order.
pub(super) fn subjects(names: &[String], spec: &Spec) -> Result<Vec<Subject>, LabError> {
    let file: File = toml::from_str(TEXT).map_err(|error| LabError::Spread(error.message().to_owned()))?;
    let library = isobar_sim::program::shipped()?;
    names.iter().map(|name| subject(name, &file, &library, spec)).collect()
}

fn subject(name: &str, file: &File, library: &Library, spec: &Spec) -> Result<Subject, LabError> {
    let program = library.find(FILE, "program.name", name)?;
    let unknown = || LabError::Spread(format!("`{name}` is not described"));
    let spread = file.program.iter().find(|spread| spread.name == name).ok_or_else(unknown)?;
    let (local_ns, remote_ns) = LATENCY_NS;
    let threads = u16::try_from(program.threads).unwrap_or(u16::MAX);
    let misses = program.mpki.misses(LLC_BYTES);
    let cycles = program.base_cpi + misses * local_ns * NANO * HERTZ / program.mlp;
    let accesses_per_second = HERTZ / cycles * misses * f64::from(threads);
    let accesses = num::round(accesses_per_second * spec.seconds).max(1);
    let recipe = Recipe { threads, accesses, zones: zones(&program, spread)? };
    let remote_seconds = (remote_ns - local_ns) * NANO / program.mlp;
    Ok(Subject { name: name.to_owned(), recipe, accesses_per_second, remote_seconds })
}

/// Zones divide the footprint to the page: each ends where the sum of the shares up to it ends.
fn zones(program: &Program, spread: &Spread) -> Result<Vec<Zone>, LabError> {
    let sum = |read: fn(&Part) -> f64| spread.zone.iter().map(read).sum::<f64>();
    if (sum(|part| part.memory) - 1.0).abs() > ROUNDING || (sum(|part| part.accesses) - 1.0).abs() > ROUNDING {
        let problem = format!("{}: the zones' memory and accesses must each add up to 1", spread.name);
        return Err(LabError::Spread(problem));
    }
    let pages = num::float(program.pages());
    let (mut shares, mut start) = (0.0, 0);
    let zones = spread.zone.iter().map(|part| {
        shares += part.memory;
        let end = u32::try_from(num::round(pages * shares)).unwrap_or(u32::MAX);
        let zone = Zone {
            pages: end - start,
            weight: part.accesses,
            lines: part.lines,
            pattern: part.pattern,
            shared: part.shared,
        };
        start = end;
        zone
    });
    Ok(zones.collect())
}

#[cfg(test)]
mod tests {
    use super::{Spec, subjects};
    use isobar_sim::program::shipped;

    #[test]
    fn every_program_has_the_footprint_of_the_simulators_and_a_trace() {
        let spec = Spec::paper();
        let library = shipped().unwrap();
        for name in spec.programs.iter().chain(&spec.shared) {
            let subject = &subjects(std::slice::from_ref(name), &spec).unwrap()[0];
            let program = library.find("", "", name).unwrap();
            assert_eq!(u64::from(subject.recipe.pages()), program.pages(), "{name}");
            subject.recipe.trace(1).unwrap();
        }
    }

    #[test]
    fn mcf_has_the_printed_resident_set_and_its_misses_take_their_time() {
        let mcf = &subjects(&["mcf".to_owned()], &Spec::paper()).unwrap()[0];
        let gigabytes = f64::from(mcf.recipe.pages()) * 4096.0 / 1e9;
        assert!((1.5..1.75).contains(&gigabytes), "1.6 GB (DINO, section 5.2), not {gigabytes}");
        // A remote miss takes 40 ns more, divided among the misses in flight.
        let program = shipped().unwrap().find("", "", "mcf").unwrap();
        assert!((mcf.remote_seconds - 40e-9 / program.mlp).abs() < 1e-15);
        // A second of execution alone: the cycles per instruction add up to the clock rate.
        let misses = program.mpki.misses(2.0 * 1_048_576.0);
        let cpi = program.base_cpi + 253.0 * misses / program.mlp;
        assert!((mcf.accesses_per_second / misses * cpi / 2.3e9 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_unknown_program_is_named() {
        let said = |name: &str| subjects(&[name.to_owned()], &Spec::paper()).unwrap_err().to_string();
        assert!(said("mlic").contains("did you mean milc?"), "{}", said("mlic"));
        assert_eq!(said("astar"), "sra/programs.toml: `astar` is not described");
    }
}

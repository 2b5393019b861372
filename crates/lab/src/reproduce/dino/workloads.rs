//! The paper's workloads (sections 3.2 and 5.1), as far as its text names them: the lists of
//! programs are in figures that the text lacks. They were chosen before any of them was run.
//!
//! - SPEC CPU2006, "launched simultaneously", one program per core: the programs that the text
//!   names (section 2.1 and table 1) and, to fill sixteen cores, three more of that suite; half of
//!   them for its smaller machine; and the workload with copies that ships as an example.
//! - SPEC MPI2007: the jobs of table 1, "a single job, each comprised of 16 processes", each run to
//!   its end once, and this ten times. Processes wait for each other at barriers, whose distance is
//!   an estimate ([`BARRIER_BILLION`]), so they go through their phases together (our reading).

use crate::error::LabError;
use crate::reproduce::options::Options;
use isobar_sim::Workload;
use isobar_sim::machine::Estimated;

/// The programs of `barcelona-4x4`: five of table 1, eight more of section 2.1, three of ours.
const SIXTEEN: [&str; 16] = [
    "soplex",
    "milc",
    "lbm",
    "gamess",
    "namd",
    "mcf",
    "omnetpp",
    "gcc",
    "bwaves",
    "bzip2",
    "povray",
    "calculix",
    "h264ref",
    "leslie3d",
    "gobmk",
    "perlbench",
];
/// Four devils and four turtles for `barcelona-2x4`, which has less memory: five of table 1, three
/// of section 2.1.
const EIGHT: [&str; 8] = ["soplex", "milc", "lbm", "gamess", "namd", "mcf", "povray", "h264ref"];
const COPIES: &str = include_str!("../../../../../examples/workloads/dino-spec.toml");
/// The jobs of table 1.
const JOBS: [&str; 5] = ["leslie3d-mpi", "lammps-mpi", "gapgeofem-mpi", "socorro-mpi", "lu-mpi"];

/// Instructions of a process between two barriers, in billions: a tenth of a second at the 1.5
/// billion per second that these programs reach. The range: a time step, or an iteration of a
/// solver that ends with a reduction, takes from ten milliseconds to a second on sixteen processes;
/// neither the paper nor any other source that we found counts them.
pub(super) const BARRIER_BILLION: Estimated = Estimated { value: 0.15, low: 0.015, high: 1.5 };

/// One workload.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Its name in words, for figures.
    pub name: &'static str,
    /// Its figure's file name.
    pub file: &'static str,
    /// Whether programs run in several copies.
    pub copies: bool,
    pub workload: Workload,
}

/// The steady workloads.
pub(super) fn steady(options: &Options) -> Result<Vec<Named>, LabError> {
    let sixteen = list("barcelona-4x4", &SIXTEEN);
    let eight = list("barcelona-2x4", &EIGHT);
    let all = [
        ("sixteen SPEC CPU2006 programs", "dino-figure-6-sixteen", sixteen.as_str()),
        ("eight SPEC CPU2006 programs", "dino-figure-6-eight", eight.as_str()),
        ("SPEC CPU2006 with copies", "dino-figure-6-copies", COPIES),
    ];
    all.into_iter().map(|(name, file, text)| read(name, file, text, options)).collect()
}

/// The phase-changing jobs; quick: up to GAPgeofem, which section 3.2 names.
pub(super) fn changing(options: &Options) -> Result<Vec<Named>, LabError> {
    let barrier = BARRIER_BILLION.value;
    let job = |name: &'static str| {
        let text = format!(
            "machine = \"barcelona-4x4\"\n[[app]]\nprogram = \"{name}\"\ncount = 16\nbarrier_billion = {barrier}\n"
        );
        let mut job = read(name, "", &text, options)?;
        (job.workload.run.runs, job.workload.run.judged_run) = (1, None);
        Ok(job)
    };
    JOBS.into_iter().take(if options.quick { 3 } else { JOBS.len() }).map(job).collect()
}

fn list(machine: &str, programs: &[&str]) -> String {
    let apps: String = programs.iter().map(|name| format!("[[app]]\nprogram = \"{name}\"\n")).collect();
    format!("machine = \"{machine}\"\n{apps}")
}

/// Length factor of the runs. Programs are shortened to about a minute alone, while the paper runs
/// "reference sets in both cases", which take some 700 s on such CPUs: reference times of SPEC
/// CPU2006 of 5,320 (povray) to 22,130 s (h264ref), mostly about 9,000, divided by base ratios of
/// about 12 (estimate for a Barcelona of 2.3 GHz). A short run would count its restarts, each of
/// which brings pages to a new place, as migrations per hour.
const REFERENCE: f64 = 12.0;

/// "Until each benchmark completes three times. We use the result of the second execution" (section
/// 3.2).
const RUNS: u32 = 3;
const JUDGED: u32 = 2;

/// Three runs of each program, of which the second counts, as in section 3.2; quick: one run.
fn read(name: &'static str, file: &'static str, text: &str, options: &Options) -> Result<Named, LabError> {
    let mut workload = Workload::from_toml(name, text)?;
    workload.run.instructions_factor = REFERENCE;
    (workload.run.runs, workload.run.judged_run) = if options.quick { (1, None) } else { (RUNS, Some(JUDGED)) };
    let workload = options.vary(workload)?;
    let copies = workload.apps.iter().any(|app| app.name != app.program.name);
    Ok(Named { name, file, copies, workload })
}

//! `isobar pages FILE --machine NAME`: predicts what each mapping would gain on a machine.

use crate::failure::bad_input;
use crate::verbs::pages::source;
use isobar_lab::LabError;
use isobar_lab::predict::{Assumptions, Times, predict_from};
use isobar_model::num;
use isobar_pages::PageProfile;
use isobar_sim::machine::find;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The machine of the prediction, and the size of the program.
#[derive(Debug, clap::Args)]
pub struct MachineArgs {
    /// Also predict the gain of each mapping on a machine that ships, such as xeon-4x8, with
    /// threads placed compactly on its nodes (docs/design/page-usage.md lists the assumptions)
    #[arg(long, value_name = "NAME", conflicts_with = "watch")]
    machine: Option<String>,
    /// MiB of memory of the larger program that this run is a small version of [default: the memory
    /// of this run]
    #[arg(long, value_name = "MIB", requires = "machine", value_parser = clap::value_parser!(u32).range(1..))]
    stands_for: Option<u32>,
    /// A trace of the same run that counts the accesses that memory served
    /// (`numasim-trace --misses`), instead of guessing which accesses miss
    #[arg(long, value_name = "FILE", requires = "machine")]
    misses: Option<PathBuf>,
    /// Misses of a thread that are in flight at the same time, 1 to 64; 1 if none overlap, as on
    /// numasim's machines without a table `overlap` [default: 4]
    #[arg(long, value_name = "N", requires = "machine", value_parser = clap::value_parser!(u32).range(1..=64))]
    in_flight: Option<u32>,
}

/// The predicted gains.
pub struct Gains {
    machine: String,
    times: Times,
}

impl MachineArgs {
    /// Computes the gains, if a machine was named.
    pub fn gains(&self, profile: &PageProfile, min_excl: f64) -> anyhow::Result<Option<Gains>> {
        let Some(name) = &self.machine else { return Ok(None) };
        let machine = find(name).map_err(bad_input)?;
        let stands_for = self.stands_for.map(|mib| f64::from(mib) * num::float(1 << 20));
        let misses = self.misses.as_deref().map(source::read).transpose()?.map(|read| read.profile);
        let default = Assumptions::default();
        let assumed = Assumptions { stands_for, mlp: self.in_flight.map_or(default.mlp, f64::from), ..default };
        let times = predict_from(profile, misses.as_ref(), &machine, min_excl, &assumed);
        Ok(Some(Gains { machine: name.clone(), times: times.map_err(|why| self.bad_misses(why))? }))
    }

    /// Reports misses of another run as bad input that names their file.
    fn bad_misses(&self, why: LabError) -> anyhow::Error {
        match (&self.misses, why) {
            (Some(file), why @ LabError::Misses(_)) => bad_input(format!("--misses {}: {why}", file.display())),
            (_, why) => why.into(),
        }
    }
}

fn each(gains: &Gains) -> impl Iterator<Item = (&'static str, (f64, f64))> {
    let names = gains.times.all().iter().map(|time| time.mapping.name());
    names.filter_map(|name| Some((name, gains.times.gain(name)?)))
}

/// The gains for people.
pub fn lines(gains: &Gains) -> Vec<String> {
    let head = [
        String::new(),
        format!("Gain over first-touch on {}", gains.machine),
        "               predicted  simulated".into(),
    ];
    let row = |(name, (predicted, simulated))| format!("  {name:<12} {predicted:>+7.1} %  {simulated:>+7.1} %");
    head.into_iter().chain(each(gains).map(row)).collect()
}

/// The gains as JSON.
pub fn document(gains: &Gains) -> Value {
    let one = |(name, (predicted, simulated)): (&str, (f64, f64))| {
        (name.to_owned(), json!({"predicted_percent": predicted, "simulated_percent": simulated}))
    };
    let all: serde_json::Map<_, _> = each(gains).map(one).collect();
    json!({"name": gains.machine, "gains": all})
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &[u8] = include_bytes!("../../../../../examples/pages/matmul.csv");

    fn gains(machine: &str, stands_for: Option<u32>) -> anyhow::Result<Option<Gains>> {
        let profile = isobar_pages::open(EXAMPLE).unwrap();
        MachineArgs { machine: Some(machine.to_owned()), stands_for, misses: None, in_flight: None }
            .gains(&profile, 0.9)
    }

    /// The few pages of a small run stay in caches. A large program of the same kind has all of its
    /// memory on one node.
    #[test]
    fn a_small_run_gains_nothing_and_what_it_stands_for_does() {
        let small = gains("xeon-4x8", None).unwrap().unwrap();
        assert!(each(&small).all(|(_, (_, simulated))| simulated.abs() < 1e-9));
        let large = gains("xeon-4x8", Some(100_000)).unwrap().unwrap();
        let given = lines(&large);
        assert_eq!((given.len(), given[1].as_str()), (11, "Gain over first-touch on xeon-4x8"));
        let locality = document(&large)["gains"]["locality"]["simulated_percent"].as_f64().unwrap();
        assert!(locality > 1.0, "{locality}");
    }

    #[test]
    fn an_unknown_machine_is_bad_input() {
        let given = gains("vax", None).err().unwrap().to_string();
        assert!(given.contains("unknown machine `vax`") && given.contains("xeon-4x8"), "{given}");
    }
}

//! A cross-validation, as it is written in TOML: programs, numbers of ways at which each program is
//! measured alone, mixes that stay where they are, and mixes that are managed. This file knows keys
//! and limits, and nothing of what is done with them.

use isobar_model::num;
use numasim_lab::LabError;
use numasim_lab::experiment::Scale;
use numasim_lab::place;
use numasim_model::Spec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The job whose end is the end of a run.
pub const TIMER: &str = "timer";
/// The timer's command.
pub const CLOCK: &str = "cpu";

/// A cross-validation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Xval {
    /// Its name.
    pub name: String,
    /// A machine of the simulator, scaled for numasim.
    pub machine: String,
    /// How it is scaled.
    #[serde(default)]
    pub scale: Scale,
    /// Guest seconds for which each program runs alone.
    pub solo_seconds: f64,
    /// Guest seconds for which each mix that stays where it is runs.
    #[serde(default = "second_and_a_half")]
    pub mix_seconds: f64,
    /// Host seconds that a boot may take.
    #[serde(default = "ten_minutes")]
    pub boot_limit_seconds: u32,
    /// Numbers of ways of an LLC at which every program is measured alone, in addition to all ways.
    pub ways: Vec<u32>,
    /// The programs.
    pub program: Vec<Program>,
    /// The mixes in which each program stays on its CPU.
    #[serde(default)]
    pub mix: Vec<Mix>,
    /// Guest seconds for which each managed mix runs.
    #[serde(default = "eight_seconds")]
    pub managed_seconds: f64,
    /// The policies of isobar under which managed mixes run, in addition to stock Linux.
    #[serde(default)]
    pub policies: Vec<String>,
    /// The mixes in which a program begins on its CPU and may then be moved.
    #[serde(default)]
    pub managed: Vec<Mix>,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name in tables.
    pub name: String,
    /// The command. It has one thread, and its passes are short compared with the seconds of a run.
    pub run: String,
}

impl Program {
    /// The name of its process.
    #[must_use]
    pub fn command(&self) -> &str {
        let first = self.run.split_whitespace().next().unwrap_or_default();
        first.rsplit('/').next().unwrap_or_default()
    }
}

/// Programs that run together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Its name in tables.
    pub name: String,
    /// Which program is where.
    pub of: Vec<Seat>,
}

/// A program on a CPU; in a managed mix, the CPU where it begins. `chase@4` has its memory on the
/// CPU's node, `chase@4:0` on node 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seat {
    /// The program's name.
    pub program: String,
    /// Its CPU.
    pub cpu: u32,
    /// The node of its memory; `None` stands for the node of the CPU.
    pub memory: Option<u32>,
}

const fn ten_minutes() -> u32 {
    600
}

const fn second_and_a_half() -> f64 {
    1.5
}

const fn eight_seconds() -> f64 {
    8.0
}

impl TryFrom<String> for Seat {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Seat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a seat: expected PROGRAM@CPU or PROGRAM@CPU:NODE, such as `chase@4:0`");
        let (program, place) = text.rsplit_once('@').ok_or_else(wrong)?;
        let (cpu, memory) = place.split_once(':').map_or((place, None), |(cpu, node)| (cpu, Some(node)));
        let memory = memory.map(str::parse).transpose().map_err(|_| wrong())?;
        Ok(Self { program: program.to_owned(), cpu: cpu.parse().map_err(|_| wrong())?, memory })
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.program, self.cpu)?;
        self.memory.map_or(Ok(()), |node| write!(out, ":{node}"))
    }
}

impl From<Seat> for String {
    fn from(seat: Seat) -> Self {
        seat.to_string()
    }
}

impl Seat {
    /// The node of its memory.
    #[must_use]
    pub fn node(&self, spec: &Spec) -> u32 {
        self.memory.unwrap_or_else(|| num::narrow(self.home(spec)))
    }

    /// The node of its CPU.
    #[must_use]
    pub fn home(&self, spec: &Spec) -> usize {
        spec.node_of(num::index(self.cpu)).unwrap_or(0)
    }
}

impl Xval {
    /// Reads a cross-validation; `file` is the name that messages use.
    ///
    /// # Errors
    /// One line with the file, the line or key, and the remedy.
    pub fn parse(text: &str, file: &str) -> Result<Self, LabError> {
        let read: Self = toml::from_str(text).map_err(|error| LabError::toml(file, text, &error))?;
        read.check().map_err(|problem| LabError::input(file, problem))?;
        Ok(read)
    }

    fn check(&self) -> Result<(), String> {
        let seconds = [
            ("solo_seconds", self.solo_seconds),
            ("mix_seconds", self.mix_seconds),
            ("managed_seconds", self.managed_seconds),
        ];
        for (key, seconds) in seconds {
            if !(0.05..=600.0).contains(&seconds) {
                return Err(format!("{key} = {seconds}: expected a number from 0.05 to 600"));
            }
        }
        if self.program.is_empty() || self.mixes().next().is_none() {
            return Err("program, mix, managed: there must be a program, and a mix of either kind".to_owned());
        }
        distinct("program", self.program.iter().map(|program| program.name.as_str()), &['#', '@', ':', '/'])?;
        distinct("mix", self.mix.iter().map(|mix| mix.name.as_str()), &['\n'])?;
        distinct("managed", self.managed.iter().map(|mix| mix.name.as_str()), &['\n'])?;
        self.check_policies()?;
        self.mixes().try_for_each(|mix| self.check_mix(mix))
    }

    fn check_policies(&self) -> Result<(), String> {
        if self.managed.is_empty() && !self.policies.is_empty() {
            return Err("policies: there is no [[managed]] mix for them".to_owned());
        }
        let twice = |(at, name): &(usize, &String)| self.policies[..*at].contains(name);
        if let Some((_, name)) = self.policies.iter().enumerate().find(twice) {
            return Err(format!("policies: `{name}` occurs twice; remove one"));
        }
        // The timer's process has this name, and its job is called the timer.
        let clock = |program: &&Program| program.command() == CLOCK || program.name == TIMER;
        if let Some(program) = self.program.iter().find(clock) {
            return Err(format!(
                "program `{}`: `{TIMER}` and the command `{CLOCK}` are reserved for the clock; use others",
                program.name
            ));
        }
        self.policies.iter().try_for_each(|policy| crate::regime::check(policy))
    }

    /// The mixes of both kinds.
    fn mixes(&self) -> impl Iterator<Item = &Mix> {
        self.mix.iter().chain(&self.managed)
    }

    fn check_mix(&self, mix: &Mix) -> Result<(), String> {
        if mix.of.is_empty() {
            return Err(format!("mix `{}`: of = []: expected programs, such as \"chase@4:0\"", mix.name));
        }
        let unknown = mix.of.iter().find(|seat| !self.program.iter().any(|program| program.name == seat.program));
        if let Some(seat) = unknown {
            return Err(format!("mix `{}`: {seat}: no program is called `{}`", mix.name, seat.program));
        }
        let twice =
            mix.of.iter().enumerate().find(|(at, seat)| mix.of[..*at].iter().any(|other| other.cpu == seat.cpu));
        twice.map_or(Ok(()), |(_, seat)| {
            Err(format!("mix `{}`: CPU {} has two programs; give each a CPU of its own", mix.name, seat.cpu))
        })
    }

    /// Checks everything that depends on the machine.
    ///
    /// # Errors
    /// A line with the key, what is wrong, and what would be right.
    pub fn check_on(&self, spec: &Spec) -> Result<(), String> {
        let ways = spec.llc.first().map_or(0, |llc| llc.ways);
        if let Some(wrong) = self.ways.iter().find(|count| !(1..ways).contains(*count)) {
            return Err(format!("ways: {wrong}: expected numbers from 1 to {}", ways.saturating_sub(1)));
        }
        let timer = timer_cpu(spec);
        for (mix, seat) in self.mixes().flat_map(|mix| mix.of.iter().map(move |seat| (mix, seat))) {
            place::list(spec, &format!("mix `{}`: {seat}", mix.name), &seat.cpu.to_string())?;
            place::of_node(spec, &format!("mix `{}`: {seat}", mix.name), seat.node(spec))?;
            if seat.cpu == timer {
                return Err(format!("mix `{}`: {seat}: CPU {timer} is reserved for the clock; use another", mix.name));
            }
        }
        Ok(())
    }
}

/// The CPU of the timer, a program without memory that marks the end of a run: the last CPU.
#[must_use]
pub fn timer_cpu(spec: &Spec) -> u32 {
    num::narrow(spec.cpus().saturating_sub(1))
}

fn distinct<'a>(key: &str, names: impl Iterator<Item = &'a str>, without: &[char]) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if name.is_empty() || name.contains(without) || !seen.insert(name) {
            return Err(format!(
                "{key}.name = \"{name}\": expected a name of its own, of one line, a program's without # @ : /"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"x\"\nmachine = \"nehalem-2x4\"\nsolo_seconds = 1.0\nmix_seconds = 2.0\nways = [8, 1]\n\
                        [[program]]\nname = \"chase\"\nrun = \"chase --work 1000\"\n\
                        [[mix]]\nname = \"pair\"\nof = [\"chase@0\", \"chase@4:0\"]\n";

    fn message(text: &str) -> String {
        Xval::parse(text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn seats_are_read_and_written() {
        let read = Xval::parse(TEXT, "x.toml").unwrap();
        let seat = |cpu, memory| Seat { program: "chase".to_owned(), cpu, memory };
        assert_eq!(read.mix[0].of, [seat(0, None), seat(4, Some(0))]);
        assert_eq!(read.mix[0].of[1].to_string(), "chase@4:0");
        let spec = numasim_lab::machine::scaled("nehalem-2x4", read.scale).unwrap();
        assert_eq!((seat(5, None).node(&spec), seat(5, Some(0)).node(&spec), timer_cpu(&spec)), (1, 0, 7));
        assert_eq!(read.check_on(&spec), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(message(&TEXT.replace("chase@0", "chase")).contains("is not a seat"));
        assert!(message(&TEXT.replace("chase@0", "cahse@0")).contains("no program is called `cahse`"));
        assert!(message(&TEXT.replace("chase@0", "chase@4")).contains("CPU 4 has two programs"));
        assert!(message(&TEXT.replace("solo_seconds = 1.0", "solo_seconds = 0")).contains("solo_seconds = 0"));
        assert!(message(&TEXT.replace("\"chase@0\", \"chase@4:0\"", "")).contains("of = []: expected programs"));
        let policies =
            |list: &str| message(&format!("policies = [{list}]\n{}", TEXT.replace("[[mix]]", "[[managed]]")));
        assert!(policies("\"dino\", \"dino\"").contains("`dino` occurs twice"));
        assert!(policies("\"dyno\"").contains("unknown policy `dyno`"));
        assert!(message(&format!("policies = [\"dino\"]\n{TEXT}")).contains("there is no [[managed]] mix"));
        assert!(
            message(&TEXT.replace("\"chase --work 1000\"", "\"cpu --seconds 1\""))
                .contains("are reserved for the clock")
        );
        let spec = numasim_lab::machine::scaled("nehalem-2x4", Scale::default()).unwrap();
        let on = |from: &str, to: &str| Xval::parse(&TEXT.replace(from, to), "x").unwrap().check_on(&spec).unwrap_err();
        assert!(on("chase@0", "chase@7").contains("CPU 7 is reserved for the clock"));
        assert!(on("chase@0", "chase@9").contains("no CPU 9"));
        assert!(on("[8, 1]", "[16]").contains("from 1 to 15"));
    }
}

//! Combines results of several folders and machines. Boots that depend on the same things form a
//! set. Sets are kept apart, and their differences are named, so that only boots that are alike are
//! averaged. Pure.

use crate::identity::Identity;
use crate::metrics::Measures;
use crate::stored::Stored;
use crate::summary::{Counted, Head, Summary, counted, together};
use std::collections::{BTreeMap, BTreeSet};

/// Number of digits of a hash that are kept and written into tables.
const DIGITS: usize = 16;

/// Boots that differ only by their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The experiment.
    pub head: Head,
    /// The first digits of the hash of each thing that its boots depend on.
    pub identity: Identity,
    /// The boots, by seed.
    pub boots: Vec<Taken>,
}

/// A boot of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Its seed.
    pub seed: u64,
    /// The command that boots it again.
    pub command: String,
    /// The commit of the sources.
    pub commit: String,
    /// The release of the kernel.
    pub kernel: String,
    /// The part of it that counts.
    pub counted: Counted,
}

/// Groups results into sets. Returns them with a note for each boot that occurs twice with
/// different figures.
#[must_use]
pub fn of(results: Vec<Stored>) -> (Vec<Set>, Vec<String>) {
    merge(results.into_iter().map(alone).collect())
}

/// A set of one boot.
fn alone(result: Stored) -> Set {
    let (seed, kernel) = (result.seed, result.kernel().to_owned());
    let (command, commit) = (result.command.clone(), result.commit.clone());
    let head = Head::of(&result.experiment, &[], (result.time_scale, result.cache_scale));
    let (identity, experiment) = (shortened(&result.identity), result.experiment.clone());
    let counted = counted(&experiment, &result.boot(0));
    Set { head, identity, boots: vec![Taken { seed, command, commit, kernel, counted }] }
}

/// Joins sets that are alike. The result is sorted by experiment, then in the order of the input.
#[must_use]
pub fn merge(sets: Vec<Set>) -> (Vec<Set>, Vec<String>) {
    let (mut all, mut notes): (Vec<Set>, Vec<String>) = (Vec::new(), Vec::new());
    for set in sets {
        let alike = |other: &&mut Set| {
            let (one, other) = ((&set.head, &set.identity), (&other.head, &other.identity));
            one.0.experiment == other.0.experiment && one.0.baseline == other.0.baseline && one.1 == other.1
        };
        match all.iter_mut().find(alike) {
            Some(other) => set.boots.into_iter().for_each(|boot| add(other, boot, &mut notes)),
            None => all.push(set),
        }
    }
    all.sort_by(|one, other| one.head.experiment.cmp(&other.head.experiment));
    all.iter_mut().for_each(number);
    (all, notes)
}

fn add(set: &mut Set, boot: Taken, notes: &mut Vec<String>) {
    match set.boots.iter().find(|other| other.seed == boot.seed) {
        None => set.boots.push(boot),
        Some(other) if alike(&other.counted, &boot.counted) => {}
        Some(_) => notes.push(format!(
            "{}: seed {} occurs twice with the same hashes but different figures; the first is used",
            set.head.experiment, boot.seed
        )),
    }
}

/// Whether two boots have the same figures, as far as a CSV holds them (records.rs), because one of
/// the two may come from a CSV.
fn alike(one: &Counted, other: &Counted) -> bool {
    let held = |counted: &Counted| -> BTreeMap<String, Measures> {
        counted.runs.iter().filter_map(|(name, run)| Some((name.clone(), held(run)?))).collect()
    };
    let alone = one.alone.iter().all(|(name, seconds)| other.alone.get(name).is_none_or(|there| there == seconds));
    alone && held(one) == held(other)
}

/// The part of a run that a CSV holds; `None` for a run without jobs.
fn held(run: &Measures) -> Option<Measures> {
    let Measures { seconds, slowdowns, latencies_us, .. } = run.clone();
    let Measures { summary, remote_share, pages_migrated, thread_migrations, daemon_cpu_seconds, .. } = *run;
    (!seconds.is_empty()).then(|| Measures {
        seconds,
        slowdowns,
        summary,
        latencies_us,
        remote_share,
        pages_migrated,
        thread_migrations,
        daemon_cpu_seconds,
        ..Measures::default()
    })
}

/// Numbers the boots by seed, and labels them with it. Their problems are sorted, so that their
/// order does not depend on the source.
fn number(set: &mut Set) {
    set.boots.sort_by_key(|boot| boot.seed);
    for (repeat, boot) in (0..).zip(&mut set.boots) {
        boot.counted.repeat = repeat;
        boot.counted.label = format!("seed {}", boot.seed);
        boot.counted.problems.sort();
    }
    set.head.seed = set.boots.first().map_or(1, |boot| boot.seed);
}

impl Set {
    /// The table of the set. If `compare_with` names a contender of the set, it is the baseline
    /// instead of the experiment's.
    #[must_use]
    pub fn summary(&self, compare_with: Option<&str>) -> Summary {
        let mut head = self.head.clone();
        let other = compare_with.filter(|name| head.contenders.iter().any(|one| one == name));
        head.baseline = other.map_or(head.baseline, str::to_owned);
        let boots: Vec<Counted> = self.boots.iter().map(|boot| boot.counted.clone()).collect();
        together(&head, &boots)
    }

    /// One line with seeds, commits, kernel and hashes.
    #[must_use]
    pub fn origin(&self) -> String {
        let distinct = |of: &dyn Fn(&Taken) -> &str| {
            let all: BTreeSet<&str> = self.boots.iter().map(of).filter(|text| !text.is_empty()).collect();
            if all.is_empty() { "unknown".to_owned() } else { all.into_iter().collect::<Vec<_>>().join(", ") }
        };
        let hashes = self.identity.parts().map(|(name, hash)| format!("{name} {}", shown(hash))).join(", ");
        format!("{}; commit {}; kernel {}; {hashes}", seeds(self), distinct(&|b| &b.commit), distinct(&|b| &b.kernel))
    }
}

/// One line for each thing in which sets of one experiment differ.
#[must_use]
pub fn differences(sets: &[Set]) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&Set>> = BTreeMap::new();
    sets.iter().for_each(|set| by_name.entry(&set.head.experiment).or_default().push(set));
    by_name.into_iter().filter(|(_, sets)| sets.len() > 1).flat_map(|(name, sets)| differing(name, &sets)).collect()
}

fn differing(name: &str, sets: &[&Set]) -> Vec<String> {
    let part = |at: usize| {
        let (what, _) = sets.first()?.identity.parts()[at];
        line(name, what, sets, &|set| shown(set.identity.parts()[at].1))
    };
    let baseline = line(name, "the baseline", sets, &|set| set.head.baseline.clone());
    (0..6).filter_map(part).chain(baseline).collect()
}

/// A line such as `wrong-node is kept apart by image: 1a2b (seeds 1, 2), 3c4d (seed 3)`.
fn line(name: &str, what: &str, sets: &[&Set], of: &dyn Fn(&Set) -> String) -> Option<String> {
    let mut values: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let all: Vec<(String, String)> = sets.iter().map(|set| (of(set), seeds(set))).collect();
    all.iter().for_each(|(value, seeds)| values.entry(value.clone()).or_default().push(seeds));
    let each = values.iter().map(|(value, seeds)| format!("{value} ({})", seeds.join("; "))).collect::<Vec<_>>();
    (values.len() > 1).then(|| format!("{name} is kept apart by {what}: {}", each.join(", ")))
}

/// The seeds of a set, as `seeds 1, 2, 5`.
fn seeds(set: &Set) -> String {
    let all = set.boots.iter().map(|boot| boot.seed.to_string()).collect::<Vec<_>>();
    format!("seed{} {}", if all.len() == 1 { "" } else { "s" }, all.join(", "))
}

fn shown(hash: &str) -> String {
    if hash.is_empty() { "none".to_owned() } else { hash.chars().take(12).collect() }
}

/// The first digits of each hash.
#[must_use]
pub fn shortened(identity: &Identity) -> Identity {
    let short = |hash: &String| hash.chars().take(DIGITS).collect();
    Identity {
        experiment: short(&identity.experiment),
        machine: short(&identity.machine),
        kernel: short(&identity.kernel),
        qemu: short(&identity.qemu),
        plugin: short(&identity.plugin),
        image: short(&identity.image),
    }
}

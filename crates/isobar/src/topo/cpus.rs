//! Describes CPUs in words: ranges in which the threads of one core can be recognised.

use isobar_model::{CoreId, CpuId, CpuSet, Topology};
use std::collections::BTreeMap;

/// How the threads of cores are shown, for the legend below the boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Notation {
    /// Every core has one thread.
    Plain,
    /// `0-7 + 16-23`: the first threads of all cores, then their second threads.
    Ranks,
    /// `(0-1) (2-3)`: core by core.
    Cores,
}

/// The CPUs of one place, as words between which a line may break.
pub(super) fn words(machine: &Topology, cpus: &CpuSet) -> (Notation, Vec<String>) {
    let cores = cores(machine, cpus);
    if cores.iter().all(|core| core.len() == 1) {
        return (Notation::Plain, pieces(cpus));
    }
    let by_core = by_core(&cores);
    match by_rank(&cores) {
        Some(ranks) if ranks.len() < by_core.len() => (Notation::Ranks, ranks),
        _ => (Notation::Cores, by_core),
    }
}

/// The legend of a notation; none if every core has one thread.
pub(super) const fn legend(notation: Notation) -> Option<&'static str> {
    match notation {
        Notation::Plain => None,
        Notation::Ranks => Some("0-1 + 2-3: SMT siblings stand at the same place of each list (0 and 2, 1 and 3)"),
        Notation::Cores => Some("(0-1): SMT siblings, the threads of one core"),
    }
}

/// The cores of these CPUs, in order of their first threads.
fn cores(machine: &Topology, cpus: &CpuSet) -> Vec<CpuSet> {
    let mut cores: BTreeMap<CoreId, CpuSet> = BTreeMap::new();
    for cpu in cpus.iter() {
        let core = machine.cpu(cpu).map_or(CoreId(cpu.0), |cpu| cpu.core);
        cores.entry(core).or_default().insert(cpu);
    }
    let mut cores: Vec<CpuSet> = cores.into_values().collect();
    cores.sort_by_key(CpuSet::first);
    cores
}

/// Ranges, each with the comma that follows it.
fn pieces(cpus: &CpuSet) -> Vec<String> {
    let text = cpus.to_string();
    text.split_inclusive(',').map(str::to_owned).collect()
}

fn by_core(cores: &[CpuSet]) -> Vec<String> {
    let mut words = Vec::new();
    let mut single = CpuSet::new();
    for core in cores {
        if core.len() > 1 {
            words.extend(pieces(&std::mem::take(&mut single)));
            words.push(format!("({core})"));
        } else {
            single = single.union(core);
        }
    }
    words.extend(pieces(&single));
    words
}

/// First threads, second threads and so on; `None` unless every core has the same number of
/// threads, in the same order.
fn by_rank(cores: &[CpuSet]) -> Option<Vec<String>> {
    let threads = cores.first()?.len();
    let mut words = Vec::new();
    for rank in 0..threads {
        let same_rank: Option<Vec<CpuId>> = cores.iter().map(|core| core.iter().nth(rank)).collect();
        let same_rank = same_rank.filter(|cpus| cpus.is_sorted() && cores.iter().all(|core| core.len() == threads))?;
        if rank > 0 {
            words.push("+".to_owned());
        }
        words.extend(pieces(&same_rank.into_iter().collect()));
    }
    Some(words)
}

//! Predicts what a mapping of pages gains on a machine, from a page profile and the contention
//! model.
//!
//! The metrics of page usage say which programs gain, but not how much (Diener et al. 2016, 7.2.3).
//! A profile holds every access, of which few reach memory. So:
//!
//! ```text
//! keep     of each LLC, the pages that its own threads access most, up to its size: no misses
//! miss     every `accesses_per_miss`-th access to any other page
//! run      the threads compact on the machine's nodes; contention of the misses by placement
//! end      with the slowest thread
//! ```
//!
//! If the misses of each page were counted (numasim does), they replace the first two steps.
//!
//! Nothing here is fitted to a result: [`Assumptions`] has a source for each of its numbers. The
//! prediction is for a mapping that applies from the start of a run, as first-touch does. **Not
//! modelled**: prefetching, hits in private caches beyond what the LLC keeps, time in which a
//! thread waits at barriers within the run, page tables, the cost of copies if a mapping were made
//! at run time, coherence traffic.

use crate::error::LabError;
use isobar_model::num;
use isobar_pages::{Homes, Mapping, PageProfile, Placement, Seen, Usage};
use isobar_sim::placed_threads::{self, PlacedThreads, Seat, Traits, Work};
use isobar_sim::{MachineSpec, SimError};
use std::collections::BTreeMap;

/// What a page profile does not say about a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// Instructions per load or store: 3, because about a third of the instructions of ordinary
    /// programs are loads or stores (Hennessy and Patterson).
    pub instructions_per_access: f64,
    /// Accesses to a line each time it is brought in: 8, the words of a line of 64 bytes, each used
    /// once. Scattered accesses miss more often, repeated accesses less often.
    pub accesses_per_miss: f64,
    /// Cycles per instruction without misses: 1.
    pub cpi: f64,
    /// Misses in flight at the same time: 4, within the 2 to 8 of the simulator's programs.
    pub mlp: f64,
    /// Lines written back per line read: 0.3, as for the simulator's ordinary programs.
    pub write_back: f64,
    /// Size in bytes of the program for which the profile stands; `None` for the size of the
    /// profile. A traced run is often small, and a run that fits into the caches gains nothing from
    /// any mapping.
    pub stands_for: Option<f64>,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self {
            instructions_per_access: 3.0,
            accesses_per_miss: 8.0,
            cpi: 1.0,
            mlp: 4.0,
            write_back: 0.3,
            stands_for: None,
        }
    }
}

/// The time of a program under a mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// The mapping.
    pub mapping: Mapping,
    /// Seconds of the traced run, by one call of the contention model.
    pub predicted: f64,
    /// Seconds in simulated steps, with threads ending one after the other.
    pub simulated: f64,
}

/// The times of a program on a machine, one for each mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Times(Vec<Time>);

impl Times {
    /// All times, in the order of [`Mapping::ALL`].
    #[must_use]
    pub fn all(&self) -> &[Time] {
        &self.0
    }

    /// How much faster a program is than under first-touch, in per cent: predicted and simulated. 0
    /// if nothing runs.
    #[must_use]
    pub fn gain(&self, name: &str) -> Option<(f64, f64)> {
        let of = |name| self.0.iter().find(|time| time.mapping.name() == name);
        let (first, time) = (of("first-touch")?, of(name)?);
        Some((gain(first.predicted, time.predicted), gain(first.simulated, time.simulated)))
    }
}

fn gain(first: f64, then: f64) -> f64 {
    if then > 0.0 { 100.0 * (first / then - 1.0) } else { 0.0 }
}

/// Times of a program on a machine under every mapping, with its threads compact on the nodes.
///
/// # Errors
/// [`LabError`]: no answer of the contention model.
pub fn predict(
    profile: &PageProfile,
    machine: &MachineSpec,
    min_excl: f64,
    assumed: &Assumptions,
) -> Result<Times, LabError> {
    predict_from(profile, None, machine, min_excl, assumed)
}

/// The same, from counts of the accesses that memory had to answer, page by page, in the same run.
/// Pages without a count never missed.
///
/// # Errors
/// [`LabError`]: no answer of the contention model; misses that are not from the same run.
pub fn predict_from(
    profile: &PageProfile,
    misses: Option<&PageProfile>,
    machine: &MachineSpec,
    min_excl: f64,
    assumed: &Assumptions,
) -> Result<Times, LabError> {
    let usage = &profile.usage;
    let homes = Homes::compact(machine.topology.nodes().len(), usage.threads())?;
    let seen = Seen::new(usage, &homes)?;
    let seats = placed_threads::seats(machine, homes.of_thread()).ok_or(LabError::Seats)?;
    let missing = match misses {
        Some(misses) => Missing::counted(usage, &misses.usage)?,
        None => {
            Missing::guessed(usage, &Kept::of(usage, &seats, &placed_threads::cache_bytes(machine), assumed), assumed)
        }
    };
    let traits = Traits { cpi: assumed.cpi, mlp: assumed.mlp, write_back: assumed.write_back };
    let time = |mapping: Mapping| {
        let mapping = if let Mapping::Mixed { .. } = mapping { Mapping::Mixed { min_excl } } else { mapping };
        let work = work(usage, &mapping.place(&seen), &missing, (homes.nodes(), assumed));
        let gang = PlacedThreads::new(machine, &seats, &work, traits);
        let (predicted, simulated) =
            (gang.at_once().map_err(SimError::from)?, gang.in_steps().map_err(SimError::from)?);
        Ok(Time { mapping, predicted, simulated })
    };
    Ok(Times(Mapping::ALL.into_iter().map(time).collect::<Result<_, LabError>>()?))
}

/// Which pages each last-level cache keeps.
struct Kept {
    /// The LLC of each thread.
    llc: Vec<usize>,
    /// By LLC and page.
    pages: Vec<Vec<bool>>,
}

impl Kept {
    fn of(usage: &Usage, seats: &[Seat], bytes: &[f64], assumed: &Assumptions) -> Self {
        let llc: Vec<usize> = seats.iter().map(|seat| seat.place.llc).collect();
        let own = num::float_len(usage.pages().len()) * num::float(usage.page_bytes());
        let scale = assumed.stands_for.map_or(1.0, |wanted| wanted / own.max(1.0));
        let room = |bytes: f64| num::split(bytes / (num::float(usage.page_bytes()) * scale)).0;
        let pages = (0..bytes.len()).map(|one| most_accessed(usage, &llc, one, room(bytes[one]))).collect();
        Self { llc, pages }
    }
}

/// The pages that the threads of an LLC access most, up to the number that fits; ties in the order
/// of the usage.
fn most_accessed(usage: &Usage, llc: &[usize], one: usize, room: usize) -> Vec<bool> {
    let mine = |row: &[u64]| {
        let own = row.iter().zip(llc).filter(|(_, of)| **of == one);
        own.fold(0_u64, |sum, (count, _)| sum.saturating_add(*count))
    };
    let sums: Vec<u64> = usage.rows().map(|(_, row)| mine(row)).collect();
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(sums[*at]));
    let mut kept = vec![false; sums.len()];
    order.into_iter().take(room).for_each(|at| kept[at] = true);
    kept
}

/// Misses by page, in the order of the usage, and by thread.
struct Missing(Vec<Vec<f64>>);

impl Missing {
    /// Assumes a miss for every `accesses_per_miss`-th access to a page that the thread's cache
    /// does not keep.
    fn guessed(usage: &Usage, kept: &Kept, assumed: &Assumptions) -> Self {
        let of = |(at, (_, row)): (usize, (_, &[u64]))| {
            let missed = row.iter().zip(&kept.llc).map(|(count, llc)| match kept.pages[*llc][at] {
                true => 0.0,
                false => num::float(*count) / assumed.accesses_per_miss,
            });
            missed.collect()
        };
        Self(usage.rows().enumerate().map(of).collect())
    }

    /// The misses of another profile of the same run.
    fn counted(usage: &Usage, misses: &Usage) -> Result<Self, LabError> {
        let differ = |what: &str, theirs: u64, ours: u64| Err(LabError::Misses(format!("{theirs} {what}, not {ours}")));
        if misses.threads() != usage.threads() {
            return differ("threads", misses.threads() as u64, usage.threads() as u64);
        }
        if misses.page_bytes() != usage.page_bytes() {
            return differ("bytes a page", misses.page_bytes(), usage.page_bytes());
        }
        let by_page: BTreeMap<u64, &[u64]> = misses.rows().map(|(page, row)| (page.number, row)).collect();
        if !usage.rows().any(|(page, _)| by_page.contains_key(&page.number)) && !by_page.is_empty() {
            return Err(LabError::Misses("none of its pages was accessed".to_owned()));
        }
        let none = vec![0; usage.threads()];
        let of = |page: u64| by_page.get(&page).copied().unwrap_or(&none).iter().map(|count| num::float(*count));
        Ok(Self(usage.rows().map(|(page, _)| of(page.number).collect()).collect()))
    }
}

fn work(usage: &Usage, placed: &Placement, missing: &Missing, (nodes, assumed): (usize, &Assumptions)) -> Vec<Work> {
    let none = Work { instructions: 0.0, misses: vec![0.0; nodes] };
    let mut work = vec![none; usage.threads()];
    for (((_, row), node), missed) in usage.rows().zip(placed.nodes()).zip(&missing.0) {
        for ((thread, count), missed) in work.iter_mut().zip(row).zip(missed) {
            thread.instructions += num::float(*count) * assumed.instructions_per_access;
            thread.misses[usize::from(*node)] += missed;
        }
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_pages::trace::Header;
    use isobar_pages::{MIN_EXCLUSIVITY, Page, Structure};

    /// Pages of 1 MiB by accesses of each thread, first touched by thread 0.
    fn profile(threads: usize, rows: &[Vec<u64>]) -> PageProfile {
        let mut usage = Usage::new(threads, 1 << 20).unwrap();
        (0..).zip(rows).for_each(|(number, row)| usage.push(Page { number, first: 0 }, row).unwrap());
        PageProfile {
            header: Header {
                engine: "by hand".into(),
                sampled: None,
                page_bytes: 1 << 20,
                slice_ns: 1,
                command: vec![],
            },
            structure_of: vec![0; rows.len()],
            usage,
            structures: vec![Structure { name: "all".into(), line: None, region: None }],
            threads: (0..threads).map(|number| format!("T{number}")).collect(),
            linux: None,
            end: None,
        }
    }

    fn times(profile: &PageProfile, assumed: &Assumptions) -> Times {
        predict(profile, &isobar_sim::machine::find("xeon-4x8").unwrap(), MIN_EXCLUSIVITY, assumed).unwrap()
    }

    /// Every thread has 64 pages of 1 MiB of its own, far above the caches; thread 0 touched all of
    /// them first.
    fn exclusive() -> PageProfile {
        let own = |page: usize| (0..8).map(|thread| if page / 64 == thread { 1_000_000 } else { 0 }).collect();
        profile(8, &(0..512).map(own).collect::<Vec<_>>())
    }

    /// 120 ns on the own node against 180 ns on another: the waits would add two nanoseconds per
    /// instruction. With all eight threads at one controller, the loss is larger than latency alone
    /// explains.
    #[test]
    fn exclusive_pages_gain_by_locality_and_nothing_without_misses() {
        let found = times(&exclusive(), &Assumptions::default());
        let (predicted, simulated) = found.gain("locality").unwrap();
        assert!(predicted > 10.0 && simulated > 10.0, "{predicted} {simulated}");
        assert_eq!(found.gain("first-touch"), Some((0.0, 0.0)));
        assert!(found.gain("remote").unwrap().1 < found.gain("interleave").unwrap().1);
        // Scaled down to a megabyte, the caches keep everything, and all mappings are alike.
        let small = Assumptions { stands_for: Some(1e6), ..Assumptions::default() };
        let kept = times(&exclusive(), &small);
        assert!(kept.all().iter().all(|time| (time.simulated / kept.all()[0].simulated - 1.0).abs() < 1e-9));
    }

    /// An LLC of 18 MiB keeps the 18 pages with the most accesses of its own threads.
    #[test]
    fn caches_keep_what_their_threads_access_most() {
        let of = exclusive();
        let machine = isobar_sim::machine::find("xeon-4x8").unwrap();
        let homes = Homes::compact(4, 8).unwrap();
        let seats = placed_threads::seats(&machine, homes.of_thread()).unwrap();
        let kept = Kept::of(&of.usage, &seats, &placed_threads::cache_bytes(&machine), &Assumptions::default());
        // Threads 2 and 3 are on node 1; their pages are 128 to 255.
        let pages: Vec<usize> = (0..512).filter(|page| kept.pages[1][*page]).collect();
        assert_eq!(pages, (128..146).collect::<Vec<_>>());
        let work = work(
            &of.usage,
            &Mapping::FirstTouch.place(&Seen::new(&of.usage, &homes).unwrap()),
            &Missing::guessed(&of.usage, &kept, &Assumptions::default()),
            (4, &Assumptions::default()),
        );
        assert_eq!((work[2].misses[0], work[3].misses[0]), (46.0 * 125_000.0, 64.0 * 125_000.0));
        assert_eq!(work[2].instructions, 64.0 * 3e6);
    }

    /// Thread 0 touched all pages; only the last page of each thread misses, so a mapping matters
    /// only there.
    #[test]
    fn counted_misses_take_the_place_of_the_guess() {
        let of = exclusive();
        let machine = isobar_sim::machine::find("xeon-4x8").unwrap();
        let with =
            |misses: &PageProfile| predict_from(&of, Some(misses), &machine, MIN_EXCLUSIVITY, &Assumptions::default());
        let none = with(&profile(8, &[])).unwrap();
        assert!(none.all().iter().all(|time| (time.simulated / none.all()[0].simulated - 1.0).abs() < 1e-9));
        let last = |page: usize| (0..8).map(|thread| if page == thread * 64 + 63 { 4_000_000 } else { 0 }).collect();
        let some = with(&profile(8, &(0..512).map(last).collect::<Vec<_>>())).unwrap();
        let (guessed, counted) = (times(&of, &Assumptions::default()).gain("locality"), some.gain("locality"));
        assert!(counted.unwrap().1 > 5.0 && counted.unwrap().1 < guessed.unwrap().1, "{counted:?} {guessed:?}");
        let message = |misses: &PageProfile| with(misses).unwrap_err().to_string();
        assert_eq!(message(&profile(4, &[])), "the misses are from another run: 4 threads, not 8");
        let mut far = Usage::new(8, 1 << 20).unwrap();
        far.push(Page { number: 9999, first: 0 }, &[1; 8]).unwrap();
        let far = PageProfile { usage: far, ..profile(8, &[vec![1; 8]]) };
        assert_eq!(message(&far), "the misses are from another run: none of its pages was accessed");
    }
}

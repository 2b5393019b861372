use super::super::strategy::Strategy;
use super::{Group, Mover, Tally, replay};
use isobar_pages::synthetic::Access;
use proptest::prelude::{Strategy as Draw, prop, prop_assert, prop_assert_eq, proptest};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

const PAGES: u32 = 200;

fn accesses(pages: &[u32]) -> Vec<Access> {
    pages.iter().map(|page| Access { thread: 0, page: *page }).collect()
}

fn by_threads(of: &[(u16, u32)]) -> Vec<Access> {
    of.iter().map(|(thread, page)| Access { thread: *thread, page: *page }).collect()
}

fn run(trace: &[Access], strategy: Strategy, k: u32, samples: Vec<u64>) -> Tally {
    moved(trace, mover(strategy, k), samples)
}

fn mover(strategy: Strategy, k: u32) -> Mover {
    Mover::new(strategy, k, PAGES, ChaCha8Rng::seed_from_u64(1))
}

fn moved(trace: &[Access], mover: Mover, samples: Vec<u64>) -> Tally {
    replay(trace.iter().copied(), 3, PAGES, &mut [Group::new(samples.into_iter(), vec![mover])])[0][0]
}

/// The same, computed in the simplest way, access by access: one vector of nodes, one counter.
fn plain(trace: &[Access], k: u32, samples: &[u64]) -> (i64, u64) {
    let (mut moved, mut remote, mut moves) = (vec![false; PAGES as usize], 0, 0);
    for (at, access) in (0..).zip(trace) {
        let there = access.thread == 0;
        if samples.contains(&at) && moved[access.page as usize] != there {
            let end = (access.page + k / 2 + 1).min(PAGES);
            for page in &mut moved[access.page.saturating_sub(k / 2) as usize..end as usize] {
                moves += u64::from(*page != there);
                *page = there;
            }
        }
        remote += i64::from(moved[access.page as usize] != there);
    }
    (remote, moves)
}

#[test]
fn a_sample_saves_its_own_access_and_all_later_ones_of_its_pages() {
    // Pages 5 and 6 move at the third access, so the first two accesses were remote. Page 9 stays
    // remote: 3 of 6 are saved.
    let trace = accesses(&[6, 5, 5, 9, 5, 5]);
    let tally = run(&trace, Strategy::Forward, 2, vec![2]);
    assert_eq!(tally, Tally { unmoved: 6, remote: 3, moves: 2 });
    assert_eq!(tally.sra(), Some(50.0));
}

#[test]
fn threads_that_stay_lose_what_the_moved_one_gains() {
    // Thread 0 accesses page 1 twice, thread 1 three times. The page moves at the first access: 2
    // accesses are saved, and 3 become remote.
    let trace = by_threads(&[(0, 1), (1, 1), (0, 1), (1, 1), (1, 1)]);
    let one = run(&trace, Strategy::Forward, 1, vec![0]);
    assert_eq!((one.unmoved, one.remote, one.moves), (2, 3, 1));
    assert_eq!(one.sra(), Some(-50.0));
    // If every access is sampled, the page bounces: each access is local, at the cost of four
    // moves.
    let bounced = run(&trace, Strategy::Forward, 1, (0..5).collect());
    assert_eq!((bounced.remote, bounced.moves), (0, 4));
}

#[test]
fn a_daemon_that_copies_takes_no_sample_meanwhile() {
    let tally = moved(&accesses(&[1, 2, 3, 4, 5, 6]), mover(Strategy::Forward, 1).copying(3.0), (0..6).collect());
    assert_eq!(tally.moves, 2, "at accesses 0 and 3");
}

#[test]
fn a_walk_moves_the_whole_resident_set_once() {
    let trace = accesses(&[7; 50]);
    let tally = run(&trace, Strategy::ResidentSet, 64, (0..50).collect());
    assert_eq!((tally.moves, tally.remote), (u64::from(PAGES), 0));
}

/// Only samples of remote accesses move pages, so more samples can save less.
#[test]
fn an_earlier_sample_can_cost_a_later_one() {
    let trace = accesses(&[0, 1, 2, 2, 2]);
    let few = run(&trace, Strategy::Forward, 2, vec![1]);
    let more = run(&trace, Strategy::Forward, 2, vec![0, 1]);
    assert_eq!((few.remote, more.remote), (1, 3), "page 1 was local already, so page 2 never moved");
}

fn pages() -> impl Draw<Value = Vec<u32>> {
    prop::collection::vec(0..PAGES, 1..200)
}

fn samples() -> impl Draw<Value = Vec<u64>> {
    prop::collection::btree_set(0..200_u64, 0..30).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #[test]
    fn counting_by_page_is_counting_by_access(
        of in prop::collection::vec((0..3_u16, 0..PAGES), 1..200), samples in samples(), k in 1..80_u32,
    ) {
        let trace = by_threads(&of);
        let tally = run(&trace, Strategy::ForwardBackward, k, samples.clone());
        prop_assert_eq!((tally.remote, tally.moves), plain(&trace, k, &samples));
    }

    #[test]
    fn savings_of_a_single_thread_are_from_0_to_100_per_cent(pages in pages(), samples in samples(), k in 1..300_u32) {
        for strategy in Strategy::COMPARED {
            let tally = run(&accesses(&pages), strategy, k, samples.clone());
            let sra = tally.sra().unwrap();
            prop_assert!((0.0..=100.0).contains(&sra), "{strategy:?}: {sra}");
            prop_assert!(tally.moves <= u64::from(PAGES));
        }
    }

    #[test]
    fn sampling_every_access_saves_all(pages in pages(), k in 1..300_u32) {
        for strategy in Strategy::COMPARED {
            let tally = run(&accesses(&pages), strategy, k, (0..200).collect());
            prop_assert_eq!(tally.sra(), Some(100.0));
        }
    }

    #[test]
    fn forward_backward_knows_no_direction(pages in pages(), samples in samples(), k in 1..100_u32) {
        let mirrored: Vec<u32> = pages.iter().map(|page| PAGES - 1 - page).collect();
        let tally = |pages: &[u32]| run(&accesses(pages), Strategy::ForwardBackward, k, samples.clone());
        prop_assert_eq!(tally(&pages), tally(&mirrored));
    }
}

//! Page migration on the running kernel, with processes of the tests. On a machine with one node,
//! pages "move" to the node where they are. The kernel goes through the same calls and statuses, so
//! the selection, the requests, the counts and the refusals can still be checked.

use crate::live::helper::{Helper, as_nobody, orders, public_copy};
use crate::live::{eventually, sleeper};
use isobar_linux::actuators::pages::{Migration, PageMover, PageOptions, PageRange, PagesBeside, Request};
use isobar_linux::kernel::identity;
use isobar_model::{ActionOutcome, Bytes, NodeId, PageMove, PageSelection, Pages, Pid};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Number of pages that the helper fills.
const FILLED: u64 = 6000;

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_fills_pages() {
    let Some([]) = orders() else { return };
    let page = usize::try_from(procfs::page_size()).unwrap();
    let memory = vec![1u8; usize::try_from(FILLED).unwrap() * page];
    println!("at {}", memory.as_ptr().addr());
    std::thread::sleep(Duration::from_secs(60));
    assert_eq!(memory[page], 1);
}

/// A process with [`FILLED`] pages, and the address at which they begin.
struct Filled {
    helper: Helper,
    pid: Pid,
    address: u64,
}

impl Filled {
    fn start() -> Self {
        let mut helper = Helper::start("pages::helper_fills_pages", &[]);
        let address = helper.hear("at ").parse().unwrap();
        let pid = helper.process.pid();
        Self { helper, pid, address }
    }

    fn request<'a>(&self, pages: u64, addresses: &'a [u64]) -> Migration<'a> {
        let select = if addresses.is_empty() { PageSelection::ResidentSet } else { PageSelection::AroundSamples };
        let node = any_node();
        Migration {
            pid: self.pid,
            pid_start: identity::process(self.pid).unwrap().start,
            from: node,
            to: node,
            pages: Pages(pages),
            select,
            addresses,
            accessed: &[],
            fill_up: false,
        }
    }
}

/// A node with memory: the first one.
fn any_node() -> NodeId {
    let list = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_else(|_| "0".into());
    NodeId(list.trim().split(['-', ',']).next().unwrap().parse().unwrap())
}

fn one_node() -> bool {
    let one = fs::read_to_string("/sys/devices/system/node/has_memory").is_ok_and(|list| list.trim() == "0");
    if !one {
        eprintln!("SKIPPED: the figures of this test hold on a machine of one node");
    }
    one
}

const NO_LIMIT: Pages = Pages(u64::MAX);

fn migrate(request: &Migration<'_>) -> ActionOutcome {
    PageMover::default().migrate(request, NO_LIMIT)
}

fn counts(outcome: ActionOutcome) -> (u64, BTreeMap<String, u64>) {
    match outcome {
        ActionOutcome::Pages { moved, stayed } => (moved.0, stayed.into_iter().map(|(why, n)| (why, n.0)).collect()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn k_pages_around_a_sample_move() {
    if !one_node() {
        return;
    }
    let process = Filled::start();
    let middle = [process.address + FILLED / 2 * procfs::page_size()];
    let (moved, stayed) = counts(migrate(&process.request(1024, &middle)));
    assert_eq!((moved, stayed), (1024, BTreeMap::new()));
}

#[test]
fn samples_of_unmapped_addresses_move_nothing() {
    let process = Filled::start();
    let (moved, stayed) = counts(migrate(&process.request(64, &[4096])));
    assert_eq!((moved, stayed), (0, BTreeMap::from([("not found on the node".to_owned(), 64)])));
}

#[test]
fn the_whole_resident_set_moves() {
    if !one_node() {
        return;
    }
    let process = Filled::start();
    let (moved, stayed) = counts(migrate(&process.request(100_000, &[])));
    let resident = resident(process.pid);
    assert!(moved >= FILLED && moved <= resident + 64, "{moved} of {resident}: {stayed:?}");
    assert_eq!(moved + stayed.values().sum::<u64>(), 100_000);
}

#[test]
fn without_a_sampler_successive_calls_cover_the_resident_set() {
    if !one_node() {
        return;
    }
    let process = Filled::start();
    let mut mover = PageMover::default();
    let request = Migration { select: PageSelection::AroundSamples, ..process.request(1500, &[]) };
    for _ in 0..4 {
        assert_eq!(counts(mover.migrate(&request, NO_LIMIT)).0, 1500);
    }
}

#[test]
fn pages_far_from_the_samples_go_when_all_are_to_go() {
    if !one_node() {
        return;
    }
    let process = Filled::start();
    // A sample in unmapped memory finds nothing around it.
    let nowhere = [4096];
    let (moved, _) = counts(migrate(&process.request(64, &nowhere)));
    assert_eq!(moved, 0);
    let all = Migration { fill_up: true, ..process.request(64, &nowhere) };
    assert_eq!(counts(migrate(&all)).0, 64);
}

#[test]
fn budgets_and_reserves_hold() {
    let process = Filled::start();
    let (moved, stayed) = counts(PageMover::default().migrate(&process.request(100, &[process.address]), Pages(0)));
    assert_eq!((moved, stayed["page budget used up"]), (0, 100));
    let greedy = PageOptions { reserve: Bytes(u64::MAX), ..PageOptions::default() };
    let (moved, stayed) = counts(PageMover::new(greedy).migrate(&process.request(100, &[]), Pages(60)));
    assert_eq!(moved, 0);
    assert_eq!((stayed["page budget used up"], stayed["no free memory on the target node"]), (40, 60));
}

#[test]
fn a_node_that_is_not_there_is_refused() {
    let process = Filled::start();
    let nowhere = Migration { to: NodeId(1000), ..process.request(10, &[]) };
    let ActionOutcome::Refused { errno, why } = migrate(&nowhere) else {
        panic!("moved to node 1000");
    };
    assert_eq!(errno, Some(libc::ENODEV));
    assert!(why.contains("node 1000 has no memory or does not exist"), "{why}");
}

#[test]
fn a_node_without_memory_is_refused() {
    let nodes = tempfile::tempdir().unwrap();
    fs::create_dir(nodes.path().join("node0")).unwrap();
    fs::write(nodes.path().join("node0/meminfo"), "Node 0 MemTotal: 0 kB\nNode 0 MemFree: 0 kB\n").unwrap();
    let process = Filled::start();
    let options = PageOptions { nodes: nodes.path().into(), ..PageOptions::default() };
    let request = Migration { to: NodeId(0), ..process.request(10, &[]) };
    let outcome = PageMover::new(options).migrate(&request, NO_LIMIT);
    assert!(matches!(outcome, ActionOutcome::Refused { errno: None, .. }), "{outcome:?}");
}

#[test]
fn what_ended_has_vanished_and_a_reused_pid_is_another() {
    let mut process = Filled::start();
    let request = process.request(10, &[]);
    let reused = Migration { pid_start: request.pid_start - 1, ..request };
    assert_eq!(migrate(&reused), ActionOutcome::Vanished);
    process.helper.process.0.kill().unwrap();
    eventually("a zombie without memory", || migrate(&request) == ActionOutcome::Vanished);
    process.helper.process.0.wait().unwrap();
    assert_eq!(migrate(&request), ActionOutcome::Vanished);
}

/// Pages accessed lately are requested, and pages of a process that a debugger holds move, too.
#[test]
fn accessed_pages_move_though_a_debugger_holds_the_process() {
    let process = Filled::start();
    let raw = libc::pid_t::try_from(process.pid.0).unwrap();
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: ptrace(2) with a process id and no addresses; the process is our child.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, raw, none, none) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, raw, none, none) }, 0);
    eventually("the debugger holds it", || identity::process(process.pid).is_some_and(|it| it.state == b't'));
    let first = process.address.div_ceil(procfs::page_size());
    let range = |from, to| PageRange { start: first + from, end: first + to };
    // 300 and 100 mapped pages, and 100 unmapped pages far from everything else.
    let accessed = [range(4000, 4300), range(100, 200), PageRange { start: 7, end: 107 }];
    let select = PageSelection::Accessed;
    let request = Migration { select, accessed: &accessed, ..process.request(1000, &[]) };
    let (moved, stayed) = counts(migrate(&request));
    assert_eq!((moved, stayed), (400, BTreeMap::from([("not found on the node".to_owned(), 600)])));
    let nothing = Migration { select, ..process.request(1000, &[]) };
    assert_eq!(counts(migrate(&nothing)).0, 0, "no page is known to be accessed");
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_tries_as_nobody() {
    let Some([pid]) = orders() else { return };
    let pid = Pid(pid.parse().unwrap());
    let pid_start = identity::process(pid).unwrap().start;
    let (from, to) = (any_node(), any_node());
    let select = PageSelection::ResidentSet;
    let pages = Pages(10);
    let request = Migration { pid, pid_start, from, to, pages, select, addresses: &[], accessed: &[], fill_up: false };
    println!("outcome {:?}", migrate(&request));
}

#[test]
fn another_users_pages_are_refused_with_the_missing_capability() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut nobody) = as_nobody(&public_copy(folder.path(), "test-program")) else { return };
    let process = sleeper();
    let mut helper = Helper::start_as(&mut nobody, "pages::helper_tries_as_nobody", &[&process.pid()]);
    let outcome = helper.hear("outcome ");
    assert!(outcome.starts_with("Refused") && outcome.contains("CAP_SYS_PTRACE"), "{outcome}");
}

fn beside(per_second: u64) -> PagesBeside {
    PagesBeside::new(PageOptions::default(), per_second)
}

/// Any pages of a process, from its node to the same node.
fn any_pages(process: &Filled, pages: u64) -> Request {
    let Migration { pid, pid_start, from, to, pages, select, .. } = process.request(pages, &[]);
    Request { pid, pid_start, from, to, pages, select, addresses: vec![], accessed: vec![], fill_up: false }
}

fn number(outcome: &ActionOutcome) -> u64 {
    let ActionOutcome::Queued { number, .. } = outcome else { panic!("{outcome:?}") };
    *number
}

/// The end of a migration, and the number of pages reported as moved meanwhile.
fn arrived(beside: &mut PagesBeside, number: u64) -> (PageMove, u64) {
    let (mut last, mut moved) = (None, 0);
    eventually("the pages arrive", || {
        let news = beside.news();
        moved += news.moved.iter().map(|(_, _, pages)| pages.0).sum::<u64>();
        last = news.flights.into_iter().find(|flight| flight.number == number && flight.ended);
        last.is_some()
    });
    (last.unwrap(), moved)
}

#[test]
fn pages_move_beside_the_caller_and_are_all_accounted_for() {
    if !one_node() {
        return;
    }
    let process = Filled::start();
    let mut beside = beside(1 << 20);
    let (one, other) = (beside.take_on(any_pages(&process, 3000)), beside.take_on(any_pages(&process, 1000)));
    // Both may end between two looks, and each end is reported once.
    let (mut ended, mut moved) = (BTreeMap::new(), 0);
    eventually("the pages arrive", || {
        let news = beside.news();
        moved += news.moved.iter().map(|(_, _, pages)| pages.0).sum::<u64>();
        ended.extend(news.flights.into_iter().filter(|flight| flight.ended).map(|flight| (flight.number, flight)));
        ended.len() == 2
    });
    assert_eq!(counts(ended[&number(&one)].outcome.clone()), (3000, BTreeMap::new()));
    let flight = &ended[&number(&other)];
    assert_eq!((flight.moved(), moved), (Pages(1000), 4000), "the walk goes on where it was");
    assert!(flight.copying.0 > 0.0 && flight.age >= flight.copying, "{flight:?}");
}

#[test]
fn stopping_ends_what_is_under_way_and_it_can_go_on_afterwards() {
    if !one_node() {
        return;
    }
    let process = Filled::start();
    // One page per second: its end would take too long.
    let mut beside = beside(1);
    let outcome = beside.take_on(any_pages(&process, 500));
    let flights = beside.stop().flights;
    let [flight] = &flights[..] else { panic!("{flights:?}") };
    assert_eq!((flight.number, flight.ended, flight.pages), (number(&outcome), true, Pages(500)));
    let (moved, stayed) = counts(flight.outcome.clone());
    assert_eq!(moved + stayed.values().sum::<u64>(), 500, "{stayed:?}");
    assert!(stayed.contains_key("withdrawn"), "{moved} moved: {stayed:?}");
    assert!(beside.news().flights.is_empty());
    let again = beside.take_on(any_pages(&process, 1));
    assert_eq!(arrived(&mut beside, number(&again)).0.moved(), Pages(1));
}

#[test]
fn what_cannot_move_is_said_at_once() {
    let process = Filled::start();
    let asked = any_pages(&process, 100);
    let (moved, stayed) = counts(beside(0).take_on(asked.clone()));
    assert_eq!((moved, stayed["page budget used up"]), (0, 100));
    let reused = Request { pid_start: asked.pid_start - 1, ..asked.clone() };
    assert_eq!(beside(512).take_on(reused), ActionOutcome::Vanished);
    if one_node() {
        let mut in_line = beside(60).in_line("a test");
        let (moved, stayed) = counts(in_line.take_on(asked));
        assert_eq!((moved, stayed["page budget used up"]), (60, 40));
        assert!(in_line.remark().unwrap().ends_with("waits for them: a test"));
        assert_eq!(in_line.news().outdated, [process.pid].into());
    }
}

#[test]
fn a_process_that_ends_meanwhile_is_ordinary() {
    let mut process = Filled::start();
    let mut beside = beside(1);
    // One page per second: the process ends before its pages have moved.
    let outcome = beside.take_on(any_pages(&process, 600));
    process.helper.process.0.kill().unwrap();
    process.helper.process.0.wait().unwrap();
    let (flight, _) = arrived(&mut beside, number(&outcome));
    assert!(flight.moved().0 < 512, "{flight:?}");
}

/// Number of resident pages, as the kernel counts them.
fn resident(pid: Pid) -> u64 {
    let text = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("statm")).unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_reserves_much_and_uses_little() {
    let Some([]) = orders() else { return };
    // 64 GiB of address space, with one page touched in each GiB: 64 pages (or huge pages).
    let mut stretches: Vec<Vec<u8>> = (0..64).map(|_| Vec::with_capacity(1 << 30)).collect();
    for stretch in &mut stretches {
        stretch.spare_capacity_mut()[1 << 29].write(1);
    }
    println!("at {}", stretches[0].as_ptr().addr());
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn reservations_are_not_searched_page_by_page() {
    if !one_node() || !kernel_scans() {
        return;
    }
    let mut helper = Helper::start("pages::helper_reserves_much_and_uses_little", &[]);
    let address = helper.hear("at ").parse().unwrap();
    let pid = helper.process.pid();
    let process = Filled { helper, pid, address };
    let start = std::time::Instant::now();
    let (moved, _) = counts(migrate(&process.request(1 << 20, &[])));
    let resident = resident(pid);
    assert!(moved >= 64 && moved + 64 >= resident, "{moved} of {resident} resident pages");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Whether the kernel has `PAGEMAP_SCAN` (6.7).
fn kernel_scans() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let scans = (numbers.next(), numbers.next()) >= (Some(6), Some(7));
    if !scans {
        eprintln!("SKIPPED: Linux {} has no PAGEMAP_SCAN", release.trim());
    }
    scans
}

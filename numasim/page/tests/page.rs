//! Host and guest on one page: each reads what the other writes, whatever happens to the page
//! meanwhile.

#![allow(clippy::unwrap_used)]

use numasim_page::layout::{self, PAGE_BYTES};
use numasim_page::{
    ClassFigures, ClassRequest, CpuFigures, Guest, Header, Host, LinkFigures, LlcFigures, Mapping, Memory, NodeFigures,
    PageError, Place, Refusal, Snapshot, Switches, ThreadFigures, Words,
};
use std::collections::BTreeMap;
use std::fs;
#[cfg(feature = "cli")]
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);

fn header() -> Header {
    Header {
        classes: 4,
        clock_khz: 113_500,
        window_ns: 100_000,
        line_bytes: 64,
        delays: true,
        llcs: vec![LlcFigures { ways: 16, bytes: 512 << 10 }, LlcFigures { ways: 11, bytes: 352 << 10 }],
        nodes: vec![1_280_000_000, 640_000_000],
        cpus: (0..4).map(|cpu| Place { node: cpu / 2, llc: cpu / 2 }).collect(),
    }
}

/// A snapshot in which every figure has a value of its own, derived from `seed`.
fn snapshot(seed: u64) -> Snapshot {
    let cpu = |at: u64| {
        let base = seed * 10_000 + at * 100;
        CpuFigures {
            instructions: base,
            cycles: base + 1,
            llc_references: base + 2,
            llc_misses: base + 3,
            misses_by_node: [4, 5, 6, 7, 8, 9, 10, 11].map(|at| base + at),
            bytes_read: base + 12,
            bytes_written: base + 13,
            stall_ps: base + 14,
            busy_ps: base + 15,
            covered: base + 16,
            accesses: base + 17,
            hitm_local: base + 18,
            hitm_remote: base + 19,
        }
    };
    let node = |at: u64| {
        let base = seed * 10_000 + 5000 + at * 100;
        NodeFigures {
            bytes_read: base,
            bytes_written: base + 1,
            busy_ps: base + 2,
            delay_ps: base + 3,
            bytes_per_second: header().nodes[usize::try_from(at).unwrap()],
            from_local: base + 4,
            from_remote: base + 5,
            waited_ps: base + 6,
        }
    };
    let link = |base| LinkFigures { bytes: base, busy_ps: base + 1, delay_ps: base + 2, waited_ps: base + 3 };
    let class = |at: u64| {
        let base = seed * 10_000 + 8000 + at * 10;
        ClassFigures { occupancy: base, total_bytes: base + 1, local_bytes: base + 2 }
    };
    Snapshot {
        time_ns: seed * 10_000 + 77,
        modelling: true,
        cpus: (0..4).map(cpu).collect(),
        nodes: (0..2).map(node).collect(),
        links: BTreeMap::from([((0, 1), link(seed * 10_000 + 7000)), ((1, 0), link(seed * 10_000 + 7010))]),
        classes: vec![(0..4).map(class).collect(), (4..8).map(class).collect()],
    }
}

#[test]
fn what_is_published_is_what_is_read() {
    let page = Memory::default();
    let mut host = Host::initialise(&page, header()).unwrap();
    let guest = Guest::open(&page).unwrap();
    assert_eq!(*guest.header(), header());
    assert!(matches!(guest.check(), Err(PageError::NotModelling)));
    host.publish(&snapshot(3));
    assert_eq!(guest.check().unwrap(), header());
    assert_eq!(guest.snapshot().unwrap(), snapshot(3));
    let before = guest.sequence();
    host.publish(&snapshot(4));
    assert_eq!(guest.sequence() - before, 2);
}

/// Figures of a thread, each with a value of its own.
fn thread(tid: u64) -> ThreadFigures {
    let base = tid * 10;
    ThreadFigures {
        tid,
        name: *b"a name of 16 ch.",
        instructions: base,
        cycles: base + 1,
        llc_references: base + 2,
        llc_misses: base + 3,
        bytes_read: base + 4,
        bytes_written: base + 5,
        stall_ps: base + 6,
        kernel_instructions: base + 7,
    }
}

#[test]
fn threads_are_read_one_by_one_and_free_places_are_no_threads() {
    let page = Memory::default();
    let mut host = Host::initialise(&page, header()).unwrap();
    let guest = Guest::open(&page).unwrap();
    assert_eq!((guest.counts_threads(), guest.threads().unwrap()), (false, Vec::new()));
    host.publish_threads(&[thread(9), thread(4)]);
    assert_eq!((guest.counts_threads(), guest.threads().unwrap()), (true, vec![thread(4), thread(9)]));
    host.publish_threads(&[ThreadFigures::default(), thread(4), thread(5)]);
    assert_eq!(guest.threads().unwrap(), [thread(4), thread(5)], "thread 9 is forgotten");
    let (nine, four) = (layout::thread(0), layout::thread(1));
    assert_eq!((page.load(nine), page.load(four)), (4, 2), "thread 4 had counted nothing and was left alone");
    host.publish_threads(&[]);
    assert_eq!(guest.threads().unwrap(), []);

    page.store(layout::THREADS, u64::MAX);
    assert_eq!(guest.threads().unwrap(), [], "no page has more than its places");
    page.store(four, 7);
    assert!(matches!(guest.threads(), Err(PageError::Torn { sequence: 7, .. })), "a plugin that ended while it wrote");
}

/// Thread 5 has a class until its place belongs to another thread; thread 8 has not run.
#[test]
fn a_thread_has_a_class_of_its_own() {
    let page = Memory::default();
    let mut host = Host::initialise(&page, header()).unwrap();
    let guest = Guest::open(&page).unwrap();
    let wanted = BTreeMap::from([(5, 2), (8, 1)]);
    assert!(matches!(guest.set_thread_classes(&wanted), Err(PageError::NoThreads)));
    host.publish_threads(&[thread(4), thread(5)]);
    let ask = |wanted: &BTreeMap<u64, usize>| {
        guest.set_thread_classes(wanted).map(|ClassRequest { changed, missing }| (changed, missing))
    };
    assert_eq!([ask(&wanted).unwrap(), ask(&wanted).unwrap()], [(true, 1), (false, 1)]);
    let mut taken = || {
        guest.commit();
        host.take_wishes().unwrap().threads
    };
    assert_eq!(taken(), BTreeMap::from([(5, 2)]));
    assert_eq!(taken(), BTreeMap::from([(5, 2)]), "as long as it is not taken back");
    host.publish_threads(&[thread(4), thread(8)]);
    assert_eq!(ask(&BTreeMap::new()).unwrap(), (false, 0), "thread 8 has not got the class");
    page.store(layout::class_of(1), 2 << 32 | 5);
    guest.commit();
    assert_eq!(host.take_wishes().unwrap().threads, BTreeMap::new(), "what is said of thread 5 is not of thread 8");
    assert_eq!(ask(&wanted).unwrap(), (true, 1));
    assert_eq!(ask(&BTreeMap::new()).unwrap(), (true, 0));
    let beyond = ask(&BTreeMap::from([(4, 4)])).unwrap_err();
    assert!(matches!(beyond, PageError::Wish(Refusal::Class)));
    page.store(layout::class_of(0), 9 << 32 | 4);
    guest.commit();
    assert_eq!(host.take_wishes(), None, "class 9 is refused");
}

#[test]
fn a_guest_says_how_its_kernel_switches_threads() {
    let page = Memory::default();
    let host = Host::initialise(&page, header()).unwrap();
    assert_eq!(host.switches(), None);
    let said = Switches { address: 0xffff_ffff_8100_1000, id: 2464, name: 3008 };
    Guest::open(&page).unwrap().set_switches(&said);
    assert_eq!(host.switches(), Some(said));
}

#[test]
fn classes_and_masks_reach_the_plugin_once() {
    let page = Memory::default();
    let mut host = Host::initialise(&page, header()).unwrap();
    let guest = Guest::open(&page).unwrap();
    assert_eq!((guest.mask(0, 3), guest.mask(1, 0), guest.class(2)), (0xffff, 0x7ff, 0), "full at first");
    assert_eq!(host.take_wishes(), None);
    guest.set_class(3, 2).unwrap();
    guest.set_mask(1, 2, 0b101).unwrap();
    assert_eq!(host.take_wishes(), None, "not committed");
    let generation = guest.commit();
    assert!(host.is_asked());
    let wishes = host.take_wishes().unwrap();
    assert_eq!((wishes.generation, wishes.classes.as_slice()), (generation, &[0, 0, 0, 2][..]));
    assert_eq!(wishes.masks, [vec![0xffff; 4], vec![0x7ff, 0x7ff, 0b101, 0x7ff]]);
    assert_eq!(host.take_wishes(), None, "taken");
    let unanswered = guest.wait(generation, Duration::from_millis(2)).unwrap_err().to_string();
    assert!(
        unanswered.contains("has not applied generation 1") && unanswered.contains("applied 0 last"),
        "{unanswered}"
    );
    host.applied(generation);
    guest.wait(generation, PATIENCE).unwrap();
}

#[test]
fn what_cannot_be_is_refused_on_both_sides_with_the_reason() {
    let page = Memory::default();
    let mut host = Host::initialise(&page, header()).unwrap();
    let guest = Guest::open(&page).unwrap();
    let why = |result: Result<(), PageError>| match result {
        Err(PageError::Wish(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(guest.set_class(4, 0)), Refusal::Cpu);
    assert_eq!(why(guest.set_class(0, 4)), Refusal::Class);
    assert_eq!(why(guest.set_mask(2, 0, 1)), Refusal::Llc);
    assert_eq!(why(guest.set_mask(0, 4, 1)), Refusal::Class);
    assert_eq!(why(guest.set_mask(0, 0, 0)), Refusal::NoWay);
    assert_eq!(why(guest.set_mask(1, 0, 0x800)), Refusal::BeyondWays);
    // Another program writes without the accessors.
    page.store(layout::by_class(layout::MASK, 1, 1), 0x800);
    let generation = guest.commit();
    assert_eq!(host.take_wishes(), None);
    let refused = guest.wait(generation, PATIENCE).unwrap_err();
    assert!(matches!(refused, PageError::Refused { generation: 1, why: Refusal::BeyondWays }), "{refused}");
    page.store(layout::by_class(layout::MASK, 1, 1), 1);
    let generation = guest.commit();
    assert_eq!(host.take_wishes().map(|wishes| wishes.generation), Some(generation));
    host.refuse(generation, Refusal::Other);
    assert!(matches!(guest.wait(generation, PATIENCE), Err(PageError::Refused { why: Refusal::Other, .. })));
}

#[test]
fn every_refusal_has_a_number_of_its_own() {
    let all = [Refusal::Class, Refusal::NoWay, Refusal::BeyondWays, Refusal::Cpu, Refusal::Llc, Refusal::Other];
    all.iter().for_each(|refusal| assert_eq!(Refusal::from_code(refusal.code()), *refusal));
    assert_eq!(Refusal::from_code(99), Refusal::Other);
}

/// A plugin publishes without a pause: no reading mixes two publications.
#[test]
fn readings_are_never_torn() {
    let page = Arc::new(Memory::default());
    let mut host = Host::initialise(Arc::clone(&page), header()).unwrap();
    host.publish(&snapshot(1));
    let guest = Guest::open(Arc::clone(&page)).unwrap();
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let publisher = scope.spawn(|| {
            let mut seed = 1;
            while !end.load(Ordering::Relaxed) {
                seed += 1;
                host.publish(&snapshot(seed));
                std::thread::sleep(Duration::from_micros(20));
            }
            seed
        });
        let mut seen = std::collections::BTreeSet::new();
        let since = std::time::Instant::now();
        while seen.len() < 200 && since.elapsed() < PATIENCE {
            let read = guest.snapshot().unwrap();
            let seed = read.time_ns / 10_000;
            assert_eq!(read, snapshot(seed));
            seen.insert(seed);
        }
        end.store(true, Ordering::Relaxed);
        let last = publisher.join().unwrap();
        assert!(last > 2 && seen.len() > 1, "the plugin wrote {last} times and {} were seen", seen.len());
    });
}

#[test]
fn a_plugin_that_ended_while_it_wrote_is_told() {
    let page = Memory::default();
    let mut host = Host::initialise(&page, header()).unwrap();
    host.publish(&snapshot(1));
    let guest = Guest::open(&page).unwrap();
    page.store(layout::SEQUENCE, 3);
    let torn = guest.snapshot().unwrap_err().to_string();
    assert!(torn.contains("sequence 3") && torn.contains("ended while it wrote"), "{torn}");
}

/// A change that damages a page.
type Damage = fn(&Memory);

#[test]
fn broken_pages_are_told_as_what_they_are() {
    let said = |change: Damage| {
        let page = Memory::default();
        let mut host = Host::initialise(&page, header()).unwrap();
        host.publish(&snapshot(1));
        change(&page);
        Guest::open(&page).and_then(|guest| guest.check()).unwrap_err().to_string()
    };
    let cases: [(Damage, &str); 6] = [
        (|page| page.store(layout::MAGIC, u64::MAX), "no numasim page: word 0 is 0xffffffffffffffff"),
        (|page| page.store(layout::PAGE_VERSION, 7), "version 7, and this program knows version 4"),
        (|page| page.store(layout::CPUS, 257), "257 CPUs"),
        (|page| page.store(layout::LLCS, 0), "0 last-level caches"),
        (|page| page.store(layout::WAYS + 1, 65), "65 ways"),
        (|page| page.store(layout::MODELLING, 0), "run `numasim-ctl start`"),
    ];
    for (change, part) in cases {
        let said = said(change);
        assert!(said.contains(part) && !said.contains('\n'), "{said}");
    }
}

#[test]
fn a_machine_that_does_not_fit_is_no_page() {
    let page = Memory::default();
    let too_many = Header { cpus: vec![Place::default(); 257], ..header() };
    let said = Host::initialise(&page, too_many).unwrap_err().to_string();
    assert!(said.contains("257 CPUs"), "{said}");
    assert!(matches!(Guest::open(&page), Err(PageError::NoMagic { found: 0 })), "nothing was written");
}

#[test]
fn a_file_is_shared_between_mappings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let mut host = Host::initialise(Mapping::create(&path).unwrap(), header()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), PAGE_BYTES as u64);
    let guest = Guest::open(Mapping::file(&path).unwrap()).unwrap();
    host.publish(&snapshot(9));
    assert_eq!(guest.snapshot().unwrap(), snapshot(9));
    guest.set_class(0, 1).unwrap();
    guest.commit();
    assert_eq!(host.take_wishes().unwrap().classes[0], 1);
    // Little-endian, as other readers of the file expect.
    assert_eq!(&fs::read(&path).unwrap()[..16], b"NUMASIM\0\x04\0\0\0\0\0\0\0");
    let again = Mapping::create(&path).unwrap();
    assert_eq!(again.load(layout::MAGIC), layout::MAGIC_VALUE, "what is there is kept");
    assert_eq!(again.load(layout::WORDS), 0, "beyond the page");
    again.store(layout::WORDS, 1);
}

#[test]
fn files_that_cannot_be_a_page_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    fs::write(&small, [0; 4096]).unwrap();
    let said = Mapping::file(&small).unwrap_err().to_string();
    assert!(said.contains("4096 bytes") && said.contains("size=512K"), "{said}");
    let said = Mapping::file(&folder.path().join("none")).unwrap_err().to_string();
    assert!(said.contains("none: cannot open it") && said.contains("mem-path"), "{said}");
    let said = Mapping::create(&folder.path().join("no/such")).unwrap_err().to_string();
    assert!(said.contains("no/such: cannot make it"), "{said}");
}

/// A folder like `/sys/bus/pci/devices`.
#[test]
fn the_device_is_found_by_its_ids() {
    let folder = tempfile::tempdir().unwrap();
    let said = Mapping::device_in(folder.path()).unwrap_err().to_string();
    assert!(said.contains("no ivshmem device (PCI 1af4:1110)"), "{said}");
    let device = |name: &str, vendor: &str, device: &str| {
        let at = folder.path().join(name);
        fs::create_dir(&at).unwrap();
        fs::write(at.join("vendor"), vendor).unwrap();
        fs::write(at.join("device"), device).unwrap();
        at
    };
    device("0000:00:01.0", "0x1af4\n", "0x1000\n");
    let ours = device("0000:00:02.0", "0x1af4\n", "0x1110\n");
    let said = Mapping::device_in(folder.path()).unwrap_err().to_string();
    assert!(said.contains("0000:00:02.0/resource2: cannot open it"), "{said}");
    Host::initialise(Mapping::create(&ours.join("resource2")).unwrap(), header()).unwrap();
    let guest = Guest::open(Mapping::device_in(folder.path()).unwrap()).unwrap();
    assert_eq!(guest.header().cpus.len(), 4);
}

#[cfg(feature = "cli")]
#[test]
fn the_command_prints_a_table_json_and_one_line_of_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_numasim-counters")).arg(&path).args(args).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let mut host = Host::initialise(Mapping::create(&path).unwrap(), header()).unwrap();
    let (ok, _, error) = run(&[]);
    assert!(!ok && error.lines().count() == 1 && error.contains("numasim-ctl start"), "{error}");
    host.publish(&snapshot(2));
    let (ok, table, _) = run(&[]);
    assert!(
        ok && table.contains("4 CPUs of 113500 kHz, 2 nodes") && table.contains("link 0 -> 1: 27000 bytes"),
        "{table}"
    );
    let (ok, text, _) = run(&["--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(ok);
    assert_eq!((json["cpus"][3]["llc_misses"].as_u64(), json["cpus"][3]["llc"].as_u64()), (Some(20_303), Some(1)));
    assert_eq!(json["llcs"][1]["classes"][2]["occupancy"].as_u64(), Some(28_060));
    assert_eq!(json["cpus"][0]["misses_by_node"].as_array().map(Vec::len), Some(2));
    let (ok, _, error) = run(&["--watch", "0"]);
    assert!(!ok && error.contains("expected a number of seconds above 0"), "{error}");
}

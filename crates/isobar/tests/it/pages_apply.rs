//! `isobar pages apply` on this machine: a traced program is found again at other addresses, and
//! what cannot be done is refused in one line. Where pages end up is checked on a machine with four
//! nodes (`tests/vm`).

use crate::support::{CommandOutput, isobar, run};
use isobar_pages::trace::{FirstTouch, Header, Region, RegionKind, Row, Slice, Thread, Writer};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const PAGE: u64 = 4096;

/// A running kernel of numasim, built here. It has touched its memory, and waits for a start signal
/// that never comes until this is dropped. At work it would allocate more memory now and then.
struct Kernel {
    child: Child,
    program: PathBuf,
}

impl Kernel {
    /// Starts it with four threads; `None` if there is no C compiler.
    fn start(folder: &Path, name: &str, options: &[&str]) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = folder.join(name);
        let source = root.join("numasim/programs").join(name).with_extension("c");
        let words = ["-O1", "-pthread", "-o"];
        let Ok(built) = Command::new("cc").args(words).arg(&program).arg(source).status() else {
            eprintln!("SKIPPED: no C compiler");
            return None;
        };
        assert!(built.success());
        let ready = folder.join("ready");
        let mut command = Command::new(&program);
        command.args(["--threads", "4", "--seconds", "60", "--ready-file"]).arg(&ready).args(options);
        command.arg("--start-file").arg(folder.join("never"));
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        while !ready.exists() {
            sleep(Duration::from_millis(10));
        }
        fs::remove_file(ready).unwrap();
        Some(Self { child, program })
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Its address space, as regions of a trace.
    fn regions(&self) -> Vec<Region> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid())).unwrap();
        let mut regions = Vec::new();
        let mut stacks = 1;
        let mut guard = 0;
        for line in maps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (start, end) = words[0].split_once('-').unwrap();
            let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (start, end) = (number(start), number(end));
            if words[1].starts_with("---") {
                guard = end;
                continue;
            }
            let kind = match words.get(5).copied().unwrap_or("") {
                "[heap]" => RegionKind::Heap,
                "[stack]" => RegionKind::Stack(0),
                path if path.starts_with('/') => RegionKind::File { path: path.to_owned(), offset: number(words[2]) },
                // The stack of the newest thread is lowest.
                "" if start == guard && end - start == 8 << 20 => {
                    stacks += 1;
                    RegionKind::Stack(6 - stacks)
                }
                "" => RegionKind::Anonymous { order: 0 },
                _ => continue,
            };
            regions.push(Region { start, end, kind });
        }
        // Anonymous mappings are created from the top down.
        regions.reverse();
        regions
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A trace of five threads in which every page belongs to the first thread.
fn trace(file: &Path, regions: &[Region], mut pages: Vec<u64>) {
    let header =
        Header { engine: "test".into(), sampled: None, page_bytes: PAGE, slice_ns: 1_000_000, command: Vec::new() };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    for number in 0..5 {
        writer.thread(&Thread { number, tid: number + 10, name: None }).unwrap();
    }
    regions.iter().for_each(|region| writer.region(region).unwrap());
    pages.sort_unstable();
    let first = pages.iter().map(|page| FirstTouch { page: *page, thread: 0 }).collect();
    let rows = pages.iter().map(|page| Row { page: *page, thread: 0, loads: 1, stores: 0 }).collect();
    writer.slice(&Slice { number: 0, first, rows }).unwrap();
    fs::write(file, writer.into_inner()).unwrap();
}

/// A page profile of another tool has no regions, so its addresses are used as they are.
#[test]
fn an_imported_profile_is_taken_at_its_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let Some(kernel) = Kernel::start(folder.path(), "table", &["--size-kib", "1024"]) else { return };
    let mapped = kernel.regions()[0].start / PAGE;
    let file = folder.path().join("run.csv");
    let head =
        "page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name,T0,T1,T2,T3,T4";
    fs::write(&file, format!("{head}\n{mapped},0,a,0,a,grid,5,0,0,0,0\n7,0,a,0,a,grid,5,0,0,0,0\n")).unwrap();
    let said = dry_run(&file, &kernel);
    let grid = &said["structures"][0];
    assert_eq!((&grid["name"], &grid["found"], &grid["not_found"]), (&"grid".into(), &1.into(), &1.into()), "{said}");
}

fn dry_run(file: &Path, kernel: &Kernel) -> Value {
    let said = isobar(&["pages", "apply", file.to_str().unwrap(), &kernel.pid(), "--dry-run", "--json"]);
    serde_json::from_str(said.done()).unwrap()
}

/// Every page of one run is found in another run of the same program at other addresses: the
/// program is relocatable, and Linux places it anew each time.
#[test]
fn a_run_is_found_in_another_one_with_other_addresses() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options) in [("ft", ["--size-kib", "4096"]), ("stencil", ["--size-kib", "1024"])] {
        let Some(first) = Kernel::start(folder.path(), name, &options) else { return };
        let regions = first.regions();
        assert_eq!(regions.iter().filter(|region| matches!(region.kind, RegionKind::Stack(_))).count(), 5);
        // Every 64th page of each region, and at least one.
        let pages = |region: &Region| (region.start / PAGE..region.end / PAGE).step_by(64).collect::<Vec<_>>();
        let all: Vec<u64> = regions.iter().flat_map(pages).collect();
        let file = folder.path().join(format!("{name}.trace"));
        trace(&file, &regions, all.clone());
        assert!(first.program.exists());
        drop(first);
        let second = Kernel::start(folder.path(), name, &options).unwrap();
        assert_ne!(second.regions(), regions, "the kernel gave the same addresses: is randomisation off?");
        let said = dry_run(&file, &second);
        let sum = |key: &str| -> u64 {
            said["structures"].as_array().unwrap().iter().map(|one| one[key].as_u64().unwrap()).sum()
        };
        // The stack of the first thread may have a different size.
        let (found, lost) = (sum("found"), sum("not_found"));
        assert_eq!(found + lost, all.len() as u64);
        assert!(lost * 20 <= found, "{name}: {lost} of {} pages are not found: {said}", all.len());
        for large in ["anonymous 0", name] {
            let of = said["structures"].as_array().unwrap().iter().find(|one| one["name"] == large);
            assert!(of.is_none_or(|one| one["not_found"] == 0), "{large}: {said}");
        }
        assert_eq!(said["dry_run"], true);
    }
}

#[test]
fn what_cannot_be_done_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let Some(kernel) = Kernel::start(folder.path(), "table", &["--size-kib", "1024"]) else { return };
    let pid = kernel.pid();
    let file = folder.path().join("run.trace");
    trace(&file, &kernel.regions(), vec![1]);
    let file = file.to_str().unwrap();
    let apply = |more: &str| -> CommandOutput {
        run(&format!("pages apply {more}").replace("FILE", file).replace("PID", &pid))
    };
    apply("FILE").refused(&["a trace and a process id"]);
    apply("FILE many").refused(&["`many` is not a process id"]);
    apply("FILE 4194999").refused(&["no process 4194999"]);
    apply("/no/such/file PID").refused(&["/no/such/file"]);
    apply("/etc/passwd PID").refused(&["/etc/passwd"]);
    let damaged = folder.path().join("damaged.trace");
    let mut bytes = fs::read(file).unwrap();
    bytes[40] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    apply(&format!("{} PID", damaged.display())).refused(&["damaged.trace"]);
    apply("FILE PID --policy local").refused(&["--policy", "locality"]);
    apply("FILE PID --min-excl 2").refused(&["--min-excl"]);
    apply("FILE PID --nodes 0,900").refused(&["--nodes", "node 900"]);
    apply("FILE PID --threads-to-nodes 0,0").refused(&["--threads-to-nodes", "2 nodes for the 5 threads"]);
    apply("--undo FILE PID").refused(&["--undo takes the process id only"]);
    apply("--undo PID --dry-run").refused(&["--dry-run"]);
    let state = folder.path().join("state.json");
    apply(&format!("--undo PID --state {}", state.display())).refused(&["state.pages.json", "nothing is recorded"]);
    if fs::read_to_string("/sys/devices/system/node/has_memory").is_ok_and(|nodes| nodes.trim() == "0") {
        let said = apply(&format!("FILE PID --state {}", state.display()));
        assert_eq!(said.code, Some(1), "{}", said.err);
        assert!(said.err.contains("one node only") && said.err.lines().count() == 1, "{}", said.err);
        assert!(!folder.path().join("state.pages.json").exists());
    }
}

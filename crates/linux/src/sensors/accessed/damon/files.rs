//! Reads and writes the files of DAMON's settings: one function for each operation. This file knows
//! the layout of the files, and nothing of threads and time.

use crate::kernel::page_range::PageRange;
use crate::sensors::accessed::heat::AccessedRange;
use isobar_model::Pid;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Microseconds from one check of a region to the next. Together with the next two constants, this
/// is isobar's mark.
pub const SAMPLE_US: u64 = 40_009;
/// Microseconds over which checks are added up: 20 of them.
pub const AGGREGATE_US: u64 = 20 * SAMPLE_US;
/// Microseconds after which DAMON looks at the mappings again.
pub const UPDATE_US: u64 = 2 * AGGREGATE_US;
/// Maximum number of regions of a process, each of which is checked in every sampling interval.
pub const REGIONS: u64 = 400;
/// Minimum number of regions.
const FEWEST: u64 = 10;

/// Who set up the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No settings exist.
    Free,
    /// The settings carry isobar's mark.
    Ours,
    /// Somebody else uses DAMON.
    Others,
}

/// The kernel returns `EBUSY` while another write is under way, which lasts at most one
/// aggregation.
const BUSY_TRIES: u32 = 60;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// Writes to a file that exists: a file that the write created would not be one of the kernel's.
fn overwrite(path: &Path, value: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(value.as_bytes())
}

/// The folder of the settings.
#[derive(Clone, Debug)]
pub struct Admin(PathBuf);

impl Admin {
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    pub fn exists(&self) -> bool {
        self.0.join("kdamonds/nr_kdamonds").exists()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join("kdamonds").join(file)
    }

    fn get(&self, file: &str) -> Result<String, String> {
        let path = self.path(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(text.trim().to_owned())
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.path(file);
        let mut tries = BUSY_TRIES;
        loop {
            match overwrite(&path, value) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries > 0 => {
                    tries -= 1;
                    thread::sleep(BUSY_PAUSE);
                }
                done => return done.map_err(|error| format!("{}: {error}", path.display())),
            }
        }
    }

    fn number(&self, file: &str) -> Result<u64, String> {
        let text = self.get(file)?;
        text.parse().map_err(|_| format!("{}: `{text}` is not a number", self.path(file).display()))
    }

    /// Locks the settings against other isobars, until the lock is dropped.
    ///
    /// # Errors
    /// The reason, in one line.
    pub fn lock(&self) -> Result<File, String> {
        let path = self.path("nr_kdamonds");
        let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| "another isobar uses DAMON".to_owned())?;
        Ok(file)
    }

    /// Who set up the settings.
    ///
    /// # Errors
    /// The reason, in one line.
    pub fn state(&self) -> Result<State, String> {
        let count = self.number("nr_kdamonds")?;
        let marked = |slot| {
            let interval = |name: &str| self.number(&format!("{slot}/contexts/0/monitoring_attrs/intervals/{name}"));
            interval("sample_us") == Ok(SAMPLE_US)
                && interval("aggr_us") == Ok(AGGREGATE_US)
                && interval("update_us") == Ok(UPDATE_US)
        };
        // An isobar that was killed during the set-up has marked the first slots only.
        let untouched = |slot| self.number(&format!("{slot}/contexts/nr_contexts")) == Ok(0);
        Ok(match count {
            0 => State::Free,
            _ if marked(0) && (1..count).all(|slot| marked(slot) || untouched(slot)) => State::Ours,
            _ => State::Others,
        })
    }

    /// Creates slots for this many processes, each marked and none at work.
    ///
    /// # Errors
    /// The reason, in one line; nothing is left set up then.
    pub fn set_up(&self, slots: u64) -> Result<(), String> {
        self.set("nr_kdamonds", &slots.to_string())?;
        let done = (0..slots).try_for_each(|slot| self.set_up_slot(slot));
        if done.is_err() {
            self.clear()?;
        }
        done
    }

    fn set_up_slot(&self, slot: u64) -> Result<(), String> {
        self.set(&format!("{slot}/contexts/nr_contexts"), "1")?;
        let set = |file: &str, value: &str| self.set(&format!("{slot}/contexts/0/{file}"), value);
        for (name, value) in [("sample_us", SAMPLE_US), ("aggr_us", AGGREGATE_US), ("update_us", UPDATE_US)] {
            set(&format!("monitoring_attrs/intervals/{name}"), &value.to_string())?;
        }
        let known = self.get(&format!("{slot}/contexts/0/avail_operations"))?;
        if !known.split_whitespace().any(|word| word == "vaddr") {
            return Err("the kernel's DAMON cannot watch processes: that needs CONFIG_DAMON_VADDR".to_owned());
        }
        set("operations", "vaddr")?;
        set("monitoring_attrs/nr_regions/max", &REGIONS.to_string())?;
        set("monitoring_attrs/nr_regions/min", &FEWEST.to_string())?;
        set("targets/nr_targets", "1")?;
        // A scheme that does nothing ("stat") lists the regions that it would be applied to: those
        // with at least one access.
        set("schemes/nr_schemes", "1")?;
        set("schemes/0/action", "stat")?;
        for (what, least) in [("sz", "0"), ("nr_accesses", "1"), ("age", "0")] {
            let most = if what == "sz" { u64::MAX } else { u64::from(u32::MAX) };
            set(&format!("schemes/0/access_pattern/{what}/max"), &most.to_string())?;
            set(&format!("schemes/0/access_pattern/{what}/min"), least)?;
        }
        if !self.path(&format!("{slot}/contexts/0/schemes/0/tried_regions")).exists() {
            return Err("the kernel's DAMON does not list regions: that needs Linux 6.2 or later".to_owned());
        }
        Ok(())
    }

    /// Stops every kdamond and removes the settings.
    ///
    /// # Errors
    /// The reason, in one line.
    pub fn clear(&self) -> Result<(), String> {
        // A kdamond that has ended by itself, with its process, refuses to be stopped.
        for slot in 0..self.number("nr_kdamonds")? {
            let _ = self.stop(slot);
        }
        self.set("nr_kdamonds", "0")
    }

    /// Watches isobar itself for a moment, to learn whether the kernel lets anybody watch: it does
    /// not while one of its own modules uses DAMON (`damon_start` in `mm/damon/core.c`). `modules`
    /// is the folder of the kernel's modules.
    ///
    /// # Errors
    /// The reason why not, in one line.
    pub fn try_out(&self, modules: &Path) -> Result<(), String> {
        self.set("0/contexts/0/targets/0/pid_target", &std::process::id().to_string())?;
        let path = self.path("0/state");
        match overwrite(&path, "on") {
            Ok(()) => self.stop(0),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => match taken(modules) {
                Some(why) => Err(why),
                // Another write may be under way.
                None => self.set("0/state", "on").and_then(|()| self.stop(0)),
            },
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Watches a process in a slot.
    ///
    /// # Errors
    /// The reason, in one line: mostly that the process has ended.
    pub fn start(&self, slot: u64, pid: Pid) -> Result<(), String> {
        self.set(&format!("{slot}/contexts/0/targets/0/pid_target"), &pid.to_string())?;
        self.set(&format!("{slot}/state"), "on")
    }

    /// Stops watching the process of a slot.
    ///
    /// # Errors
    /// The reason, in one line: mostly that the kdamond had stopped by itself.
    pub fn stop(&self, slot: u64) -> Result<(), String> {
        self.set(&format!("{slot}/state"), "off")
    }

    /// The regions of a slot with an access in the last aggregation, and the number of checks that
    /// found one. Waits until the kernel thread has handled the request.
    ///
    /// # Errors
    /// The reason, in one line: mostly that the process has ended.
    pub fn regions(&self, slot: u64, page_size: u64) -> Result<Vec<AccessedRange>, String> {
        self.set(&format!("{slot}/state"), "update_schemes_tried_regions")?;
        let folder = format!("{slot}/contexts/0/schemes/0/tried_regions");
        let path = self.path(&folder);
        let entries = fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let numbers = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        let mut found: Vec<AccessedRange> = numbers
            .filter_map(|name| {
                let figure = |file: &str| self.number(&format!("{folder}/{name}/{file}")).ok();
                let pages = PageRange { start: figure("start")? / page_size, end: figure("end")? / page_size };
                Some(AccessedRange { pages, heat: figure("nr_accesses")? })
            })
            .filter(|stretch| stretch.heat > 0 && !stretch.pages.is_empty())
            .collect();
        found.sort_by_key(|stretch| stretch.pages.start);
        Ok(found)
    }
}

/// The reason if the kernel uses DAMON itself, and what to do: by the module that does
/// (`Documentation/admin-guide/mm/damon/stat.rst`, `reclaim.rst` and `lru_sort.rst`).
fn taken(modules: &Path) -> Option<String> {
    let switch = |module: &&str| modules.join(module).join("parameters/enabled");
    let is_on = |module: &&str| fs::read_to_string(switch(module)).is_ok_and(|text| text.trim() == "Y");
    let module = ["damon_stat", "damon_reclaim", "damon_lru_sort"].into_iter().find(|module| is_on(module))?;
    let switch = switch(&module);
    Some(format!("the kernel's {module} uses it: `echo N > {}` turns that off", switch.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensors::accessed::damon::put_back;
    use crate::test_kit::{folder, write};

    fn intervals(slot: u64, sample: u64) -> Vec<(String, String)> {
        let file = |name: &str| format!("kdamonds/{slot}/contexts/0/monitoring_attrs/intervals/{name}");
        let (aggregate, update) = (20 * sample, 40 * sample);
        [("sample_us", sample), ("aggr_us", aggregate), ("update_us", update)]
            .map(|(name, value)| (file(name), format!("{value}\n")))
            .into()
    }

    fn tree(files: &[(String, String)]) -> tempfile::TempDir {
        folder(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    }

    #[test]
    fn what_carries_the_mark_and_no_lock_is_taken_away_and_nothing_else() {
        let count = |number: &str| ("kdamonds/nr_kdamonds".to_owned(), format!("{number}\n"));
        let now = |root: &tempfile::TempDir| fs::read_to_string(root.path().join("kdamonds/nr_kdamonds")).unwrap();
        let none = tree(&[count("0")]);
        assert_eq!(Admin::new(none.path()).state(), Ok(State::Free));
        assert_eq!(put_back(none.path()), Ok(false));
        // One of two slots is marked: somebody has changed the settings since.
        let mixed = tree(&[vec![count("2")], intervals(0, SAMPLE_US), intervals(1, 5000)].concat());
        assert_eq!(Admin::new(mixed.path()).state(), Ok(State::Others));
        assert_eq!((put_back(mixed.path()), now(&mixed)), (Ok(false), "2\n".into()));
        let ours = tree(&[vec![count("1")], intervals(0, SAMPLE_US)].concat());
        write(ours.path(), &[("kdamonds/0/state", "on\n")]);
        let running = Admin::new(ours.path()).lock().unwrap();
        assert_eq!((put_back(ours.path()), now(&ours)), (Ok(false), "1\n".into()), "an isobar that runs");
        drop(running);
        assert_eq!((put_back(ours.path()), now(&ours)), (Ok(true), "0".into()));
        assert_eq!(fs::read_to_string(ours.path().join("kdamonds/0/state")).unwrap(), "off");
        assert_eq!(put_back(Path::new("/none")), Ok(false));
        let broken = tree(&[count("many")]);
        assert!(Admin::new(broken.path()).state().unwrap_err().ends_with("`many` is not a number"));
    }

    #[test]
    fn the_module_that_uses_damon_is_named_with_its_switch() {
        let enabled = |module: &str, value: &str| (format!("{module}/parameters/enabled"), format!("{value}\n"));
        let stat = tree(&[enabled("damon_reclaim", "N"), enabled("damon_stat", "Y")]);
        let switch = stat.path().join("damon_stat/parameters/enabled");
        assert_eq!(
            taken(stat.path()).unwrap(),
            format!("the kernel's damon_stat uses it: `echo N > {}` turns that off", switch.display())
        );
        assert_eq!(taken(Path::new("/none")), None);
    }

    #[test]
    fn regions_are_read_in_order_and_broken_ones_left_out() {
        let base = "kdamonds/0/contexts/0/schemes/0/tried_regions";
        let region = |name: &str, start: &str, end: &str, accesses: &str| {
            [("start", start), ("end", end), ("nr_accesses", accesses)]
                .map(|(file, value)| (format!("{base}/{name}/{file}"), format!("{value}\n")))
        };
        let files = [
            region("10", "8192", "20480", "7"),
            region("2", "0", "4096", "20"),
            region("3", "40960", "x", "20"),
            region("4", "40960", "49152", "0"),
        ];
        let root = tree(&files.concat());
        write(root.path(), &[("kdamonds/0/state", "on\n"), (&format!("{base}/total_bytes"), "9\n")]);
        let found = Admin::new(root.path()).regions(0, 4096).unwrap();
        let brief: Vec<_> = found.iter().map(|it| (it.pages.start, it.pages.end, it.heat)).collect();
        assert_eq!(brief, [(0, 1, 20), (2, 5, 7)]);
    }
}

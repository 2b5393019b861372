//! Cache ways on a guest without the hardware for them: a double of resctrl
//! (`crates/resctrl-double`, a FUSE mount) stands in for the kernel's. First the double itself is
//! checked, accessed through this kernel. Then isobar is checked by the content of the double's
//! files.

use crate::evidence;
use crate::isobar::{self, Manage};
use crate::subject::Subject;
use crate::suite::{Suite, same};
use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const ROOT: &str = "/tmp/resctrl";

/// All ways of a domain of the double, as a mask.
const ALL: &str = "7ff";

pub fn checks(suite: &mut Suite) {
    suite.check("resctrl: the double keeps groups of this kernel's tasks", groups);
    suite.check("resctrl: the double refuses what the kernel refuses", refusals);
    suite.check("resctrl: processes have their ways, and none has after SIGTERM", || {
        comes_back(|manage| manage.end_by(Signal::TERM)?.fine().map(|_| ()))
    });
    suite.check("resctrl: no process has ways after kill -9 and `isobar restore`", || {
        comes_back(|manage| {
            manage.end_by(Signal::KILL)?;
            isobar::run(&["restore"])?.fine().map(|_| ())
        })
    });
    suite.check("resctrl: another tool takes the last CLOSID", no_closid);
    suite.check("resctrl: the mount vanishes in mid-run", vanishes);
}

/// A mounted double with the L3 domains of this guest; unmounted when dropped.
pub struct Double(Child);

impl Double {
    pub fn mount(more: &[&str]) -> Result<Self> {
        fs::create_dir_all(ROOT)?;
        let domains = llcs()?.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let words = ["--mount", ROOT, "--domains", &domains, "--closids", "4", "--bandwidth", "--for", "240"];
        let words = [&words[..], &["--journal", "/results/resctrl.journal"], more].concat();
        let mut child =
            Command::new("isobar-resctrl-double").args(words).stdout(Stdio::piped()).spawn().context("the double")?;
        let mut said = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut said)?;
        let double = Self(child);
        ensure!(said.starts_with("mounted on"), "the double is not mounted: {said}");
        Ok(double)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.0.wait();
    }
}

/// The last-level caches, by the id that the kernel gives them. The id is taken from the first CPU
/// of each cache, because under QEMU each CPU reports another one.
pub fn llcs() -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for cpu in evidence::numbered("/sys/devices/system/cpu", "cpu")? {
        let cache = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3");
        let cpus = evidence::text(format!("{cache}/shared_cpu_list"))?;
        if evidence::list(&cpus).first() == Some(&cpu) {
            found.push(evidence::number(format!("{cache}/id"))?);
        }
    }
    found.sort_unstable();
    ensure!(!found.is_empty(), "no LLC");
    Ok(found)
}

/// The tasks of a group, from its file.
fn tasks(group: &str) -> Result<BTreeSet<u32>> {
    let text = evidence::text(Path::new(ROOT).join(group).join("tasks"))?;
    text.lines().map(|line| line.parse().with_context(|| format!("{group}: task `{line}`"))).collect()
}

/// What a group may use of each domain of the resource with this name.
fn allocation(group: &str, resource: &str) -> Result<BTreeMap<u32, String>> {
    let text = evidence::text(Path::new(ROOT).join(group).join("schemata"))?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(resource)?.strip_prefix(':'));
    let line = line.with_context(|| format!("{group}: no {resource} in {text}"))?;
    let domain = |text: &str| {
        text.split_once('=')
            .and_then(|(id, value)| Some((id.parse().ok()?, value.trim().trim_start_matches('0').to_owned())))
    };
    line.split(';').map(|text| domain(text).with_context(|| line.to_owned())).collect()
}

fn write(path: &str, text: &str) -> std::io::Result<()> {
    fs::write(Path::new(ROOT).join(path), text)
}

/// Tasks go to the group into which they are written, together with later children. Tasks that have
/// ended vanish. A removed group gives its tasks back.
fn groups() -> Result<()> {
    let _double = Double::mount(&[])?;
    let mut alpha = Subject::start("alpha")?;
    let threads = alpha.spin(2)?;
    fs::create_dir(Path::new(ROOT).join("web"))?;
    write("web/tasks", &format!("{},{}\n", alpha.pid(), threads[0]))?;
    same("the group's tasks", tasks("web")?, BTreeSet::from([alpha.pid(), threads[0]]))?;
    ensure!(tasks("")?.contains(&threads[1]), "the other thread has left the root");
    let young = alpha.spin(1)?;
    same("with a new thread", tasks("web")?, BTreeSet::from([alpha.pid(), threads[0], young[0]]))?;
    let all = tasks("")?.len() + tasks("web")?.len();
    let (first, domains) = (llcs()?[0], llcs()?.len());
    write("web/schemata", &format!("L3:{first}=3\n"))?;
    let ways = allocation("web", "L3")?;
    same("domains", ways.len(), domains)?;
    same("ways", ways.get(&first).map(String::as_str), Some("3"))?;
    ensure!(ways.iter().all(|(id, ways)| *id == first || ways == ALL), "other domains: {ways:?}");
    drop(alpha);
    same("after the end of the process", tasks("web")?, BTreeSet::new())?;
    ensure!(tasks("")?.len() + 2 < all, "the dead are still there");
    fs::remove_dir(Path::new(ROOT).join("web"))?;
    Ok(())
}

/// The errno and the messages of a few refusals, the lock, and that nothing is left.
fn refusals() -> Result<()> {
    let double = Double::mount(&[])?;
    fs::create_dir(Path::new(ROOT).join("web"))?;
    let first = llcs()?[0];
    for (file, text, errno, status) in [
        ("web/schemata", format!("L3:{first}=5\n"), rustix::io::Errno::INVAL, "The mask 5 has non-consecutive 1-bits"),
        ("web/schemata", "L3:99=3\n".to_owned(), rustix::io::Errno::INVAL, "ok"),
        (
            "web/tasks",
            "4194303\n".to_owned(),
            rustix::io::Errno::SRCH,
            "No task 4194303\nError while processing task 4194303",
        ),
    ] {
        let refused = write(file, &text).err().with_context(|| format!("{text:?} was taken"))?;
        same("errno", rustix::io::Errno::from_io_error(&refused), Some(errno))?;
        same("status", evidence::text(format!("{ROOT}/info/last_cmd_status"))?, status.to_owned())?;
    }
    // 4 CLOSIDs: those of the root and of web, and two more.
    ["a", "b"].into_iter().try_for_each(|name| fs::create_dir(Path::new(ROOT).join(name)))?;
    let refused = fs::create_dir(Path::new(ROOT).join("c")).err().context("a fourth group was made")?;
    same("errno", rustix::io::Errno::from_io_error(&refused), Some(rustix::io::Errno::NOSPC))?;
    let lock = fs::File::open(ROOT)?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
    let other = fs::File::open(ROOT)?;
    let second = rustix::fs::flock(&other, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    same("a second lock", second, Err(rustix::io::Errno::WOULDBLOCK))?;
    drop((lock, other, double));
    same("what is below", fs::read_dir(ROOT)?.count(), 0)
}

/// The groups that isobar has created.
pub fn ours() -> Result<Vec<String>> {
    let names = fs::read_dir(ROOT)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Result<Vec<String>> = names.collect();
    Ok(names?.into_iter().filter(|name| name.starts_with("isobar-")).collect())
}

/// isobar's group that contains all threads of a process. It may also contain threads of a cluster
/// on another LLC, because a group has ways of each LLC.
pub fn group_of(subject: &Subject) -> Result<Option<String>> {
    let threads: BTreeSet<u32> = evidence::threads(subject.pid())?.into_iter().collect();
    for group in ours()? {
        // A group may vanish while we look.
        if tasks(&group).is_ok_and(|tasks| tasks.is_superset(&threads)) {
            return Ok(Some(group));
        }
    }
    Ok(None)
}

/// Starts isobar, set up to give processes ways of the double.
fn manage(ways: &str) -> Result<Manage> {
    let root = format!("manage.resctrl_root={ROOT}");
    let ways = format!("fixed.ways={ways}");
    Manage::fixed(&["alpha", "beta"], &[&root, &ways])
}

/// Two processes get ways of one LLC each, one of them with half the bandwidth, and a new thread
/// joins its process. Then isobar ends in some way. What is left is another tool's group,
/// unchanged.
fn comes_back(end: impl FnOnce(Manage) -> Result<()>) -> Result<()> {
    let _double = Double::mount(&[])?;
    let ids = llcs()?;
    let (first, last) = (ids[0], ids[ids.len() - 1]);
    let (mut alpha, beta, other) = (Subject::start("alpha")?, Subject::start("beta")?, Subject::start("other")?);
    alpha.spin(2)?;
    fs::create_dir(Path::new(ROOT).join("other"))?;
    write("other/schemata", &format!("L3:{first}=700\n"))?;
    write("other/tasks", &format!("{}\n", other.pid()))?;
    let before = (evidence::text(format!("{ROOT}/schemata"))?, evidence::text(format!("{ROOT}/other/schemata"))?);
    let mut manage = manage(&format!("alpha={first}:0x3 beta={last}:0x7f0:50"))?;
    manage.until("both have a group", || Ok(group_of(&alpha)?.is_some() && group_of(&beta)?.is_some()))?;
    let group = |subject| group_of(subject)?.context("the group has gone");
    let (a, b) = (group(&alpha)?, group(&beta)?);
    same("ways of alpha", allocation(&a, "L3")?.get(&first).map(String::as_str), Some("3"))?;
    same("ways of beta", allocation(&b, "L3")?.get(&last).map(String::as_str), Some("7f0"))?;
    same("bandwidth of beta", allocation(&b, "MB")?.get(&last).map(String::as_str), Some("50"))?;
    same("bandwidth of alpha", allocation(&a, "MB")?.get(&first).map(String::as_str), Some("100"))?;
    alpha.spin(1)?;
    manage.until("the new thread is with the others", || Ok(group_of(&alpha)?.is_some()))?;
    end(manage)?;
    same("groups of ours", ours()?, Vec::new())?;
    let after = (evidence::text(format!("{ROOT}/schemata"))?, evidence::text(format!("{ROOT}/other/schemata"))?);
    same("schemata of the root and of the other tool", after, before)?;
    same("the other tool's tasks", tasks("other")?, BTreeSet::from([other.pid()]))?;
    ensure!(
        evidence::threads(alpha.pid())?.iter().all(|tid| tasks("").is_ok_and(|root| root.contains(tid))),
        "alpha is not in the root"
    );
    ensure!(!fs::exists("/run/isobar/state.json")?, "the state file is still there");
    Ok(())
}

/// Between isobar's first reading and its first group, another tool takes the remaining CLOSIDs.
/// isobar reports this, and touches no group of the other tool.
fn no_closid() -> Result<()> {
    let _double = Double::mount(&["--take-closids", "isobar-*"])?;
    let first = llcs()?[0];
    let _alpha = Subject::start("alpha")?;
    let mut manage = manage(&format!("alpha={first}:0x3"))?;
    manage.until_told("Out of CLOSIDs")?;
    manage.epochs(2)?;
    manage.end_by(Signal::TERM)?.fine()?;
    same("groups of ours", ours()?, Vec::new())?;
    for number in 0..3 {
        same("the other's tasks", tasks(&format!("other-tool-{number}"))?, BTreeSet::new())?;
    }
    Ok(())
}

/// The mount vanishes after the first mask was written. isobar continues, reports this, and ends in
/// order.
fn vanishes() -> Result<()> {
    let double = Double::mount(&["--unmount", "*/schemata"])?;
    let first = llcs()?[0];
    let _alpha = Subject::start("alpha")?;
    let mut manage = manage(&format!("alpha={first}:0x3"))?;
    manage.until("the mount has vanished", || Ok(!fs::exists(Path::new(ROOT).join("schemata"))?))?;
    manage.epochs(2)?;
    let said = manage.end_by(Signal::TERM)?;
    ensure!(said.out.contains(ROOT) || said.err.contains(ROOT), "it does not say so: {}", said.err);
    drop(double);
    same("what is below", fs::read_dir(ROOT)?.count(), 0)
}

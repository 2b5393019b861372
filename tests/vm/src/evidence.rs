//! What Linux itself reports: affinities and last CPUs of threads, sysctls, nodes, CPUs. Read
//! directly from procfs and sysfs.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// The trimmed text of a file.
pub fn text(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    Ok(fs::read_to_string(path).with_context(|| path.display().to_string())?.trim().to_owned())
}

/// A number from a file.
pub fn number<T: FromStr>(path: impl AsRef<Path>) -> Result<T> {
    let path = path.as_ref();
    let text = text(path)?;
    text.parse().ok().with_context(|| format!("{}: `{text}` is not a number", path.display()))
}

/// The numbers of the kernel's list format, `0-3,8`.
pub fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Numbers of the entries of a folder whose names are PREFIX and a number, ascending.
pub fn numbered(folder: &str, prefix: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.to_owned())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        found.extend(name.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Threads of a process, ascending.
pub fn threads(pid: u32) -> Result<Vec<u32>> {
    numbered(&format!("/proc/{pid}/task"), "")
}

/// A line of a thread's `status`.
pub fn status(pid: u32, tid: u32, key: &str) -> Result<String> {
    let path = format!("/proc/{pid}/task/{tid}/status");
    let text = text(&path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    Ok(line.with_context(|| format!("{path}: no {key}"))?.trim().to_owned())
}

/// The process that another process started.
pub fn child_of(pid: u32) -> Result<u32> {
    let is = |child: &u32| status(*child, *child, "PPid").is_ok_and(|parent| parent == pid.to_string());
    numbered("/proc", "")?.into_iter().find(is).context("no child")
}

/// The CPUs that each thread of a process may use.
pub fn affinities(pid: u32) -> Result<BTreeMap<u32, String>> {
    threads(pid)?.into_iter().map(|tid| Ok((tid, status(pid, tid, "Cpus_allowed_list")?))).collect()
}

/// The CPU that a thread ran on last (proc_pid_stat(5), field 39).
pub fn last_cpu(pid: u32, tid: u32) -> Result<u32> {
    let text = text(format!("/proc/{pid}/task/{tid}/stat"))?;
    let after_name = text.rsplit_once(')').context("stat without a name")?.1;
    let field = after_name.split_whitespace().nth(36).context("stat without a processor")?;
    Ok(field.parse()?)
}

/// A counter of `/proc/vmstat`.
pub fn vmstat(key: &str) -> Result<u64> {
    let text = text("/proc/vmstat")?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    Ok(value.with_context(|| format!("/proc/vmstat: no {key}"))?.parse()?)
}

/// Seconds since the guest started.
pub fn uptime() -> Result<f64> {
    Ok(text("/proc/uptime")?.split(' ').next().context("no uptime")?.parse()?)
}

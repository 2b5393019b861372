//! The row ids of the processes and threads that exist now.

use isobar_model::{NodeMap, Pages, Pid, Process, ProcessSample, Sample, Thread, ThreadSample, Tid};
use rusqlite::{Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

/// Row ids by process and thread. Those that have ended are forgotten, so the size is bounded by
/// the size of the machine.
#[derive(Debug, Default)]
pub struct Ids {
    processes: BTreeMap<Pid, Row>,
    /// Where the pages of processes were when that was last written.
    pages: BTreeMap<Pid, NodeMap<Pages>>,
    threads: BTreeMap<(Pid, Tid), Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    start: u64,
    id: i64,
}

impl Ids {
    /// Forgets processes and threads that are not in the sample any more.
    pub fn keep(&mut self, sample: &Sample) {
        self.processes.retain(|pid, row| process(sample, *pid).is_some_and(|process| process.start == row.start));
        let threads = |(pid, tid): &(Pid, Tid)| Some(thread(process(sample, *pid)?, *tid)?.start);
        self.threads.retain(|id, row| threads(id) == Some(row.start));
        self.pages.retain(|pid, _| self.processes.contains_key(pid));
    }

    /// Where a process's pages are; `None` if that is written already.
    pub fn changed_pages<'a>(&mut self, process: &'a Process) -> Option<&'a NodeMap<Pages>> {
        let pages = process.pages.as_ref().filter(|pages| self.pages.get(&process.pid) != Some(pages))?;
        self.pages.insert(process.pid, pages.clone());
        Some(pages)
    }

    /// Forgets rows that are not in the file any more.
    pub fn keep_rows(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let (processes, threads) = (all_ids(transaction, "process")?, all_ids(transaction, "thread")?);
        self.processes.retain(|_, row| processes.contains(&row.id));
        self.threads.retain(|_, row| threads.contains(&row.id));
        // The remaining processes may have lost the rows that say where their pages are.
        self.pages.clear();
        Ok(())
    }

    /// The row of a process, which is created if there is none.
    pub fn process(&mut self, transaction: &Transaction<'_>, sample: &Sample, seen: &Process) -> rusqlite::Result<i64> {
        if let Some(row) = self.processes.get(&seen.pid) {
            return Ok(row.id);
        }
        let start = process(sample, seen.pid).map_or(0, |process| process.start);
        transaction
            .prepare_cached("INSERT INTO process (pid, start_ticks, name, cgroup) VALUES (?, ?, ?, ?)")?
            .execute(params![
                seen.pid.0,
                start.cast_signed(),
                &*seen.name,
                seen.cgroup.as_ref().map(|cgroup| &*cgroup.path)
            ])?;
        let id = transaction.last_insert_rowid();
        self.processes.insert(seen.pid, Row { start, id });
        Ok(id)
    }

    /// The row of a thread, which is created if there is none.
    pub fn thread(
        &mut self,
        transaction: &Transaction<'_>,
        sample: &Sample,
        (pid, of): (Pid, i64),
        seen: &Thread,
    ) -> rusqlite::Result<i64> {
        if let Some(row) = self.threads.get(&(pid, seen.tid)) {
            return Ok(row.id);
        }
        let start = process(sample, pid).and_then(|process| thread(process, seen.tid)).map_or(0, |thread| thread.start);
        transaction
            .prepare_cached("INSERT INTO thread (process, tid, start_ticks) VALUES (?, ?, ?)")?
            .execute(params![of, seen.tid.0, start.cast_signed()])?;
        let id = transaction.last_insert_rowid();
        self.threads.insert((pid, seen.tid), Row { start, id });
        Ok(id)
    }
}

fn all_ids(transaction: &Transaction<'_>, table: &str) -> rusqlite::Result<BTreeSet<i64>> {
    transaction.prepare(&format!("SELECT id FROM {table}"))?.query_map([], |row| row.get(0))?.collect()
}

fn process(sample: &Sample, pid: Pid) -> Option<&ProcessSample> {
    sample.processes.binary_search_by_key(&pid, |process| process.pid).ok().map(|at| &sample.processes[at])
}

fn thread(process: &ProcessSample, tid: Tid) -> Option<&ThreadSample> {
    process.threads.binary_search_by_key(&tid, |thread| thread.tid).ok().map(|at| &process.threads[at])
}

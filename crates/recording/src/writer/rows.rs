//! The rows of an epoch for SQL queries: nodes, latencies, and the busiest processes and threads.
//! Frames contain all processes and threads. Rows are few, so that an hour of a thousand threads
//! stays small.

use super::ids::Ids;
use crate::moment::Moment;
use isobar_model::{NodeId, Observation, Process, Sample, Thread, num};
use rusqlite::{Transaction, params};
use std::collections::BTreeMap;

/// The input of the rows.
pub struct Rows<'a> {
    pub ids: &'a mut Ids,
    /// Maximum number of processes, and of threads, that get a row.
    pub most: usize,
}

impl Rows<'_> {
    /// Inserts all rows of an epoch.
    pub fn insert(
        &mut self,
        transaction: &Transaction<'_>,
        moment: &Moment,
        seen: Option<&Observation>,
        before: Option<&Sample>,
    ) -> rusqlite::Result<()> {
        insert_nodes(transaction, moment, seen)?;
        insert_latency(transaction, moment, before)?;
        let Some(seen) = seen else { return Ok(()) };
        for process in busiest(seen.processes.iter(), self.most, |process| cpu_seconds(process)) {
            self.insert_process(transaction, moment, process)?;
        }
        for (process, thread) in busiest(seen.threads(), self.most, |(_, thread)| thread.cpu_time.map(|time| time.0)) {
            self.insert_thread(transaction, moment, process, thread)?;
        }
        Ok(())
    }

    fn process(&mut self, transaction: &Transaction<'_>, moment: &Moment, process: &Process) -> rusqlite::Result<i64> {
        self.ids.process(transaction, &moment.sample, process)
    }

    fn insert_process(
        &mut self,
        transaction: &Transaction<'_>,
        moment: &Moment,
        process: &Process,
    ) -> rusqlite::Result<()> {
        let id = self.process(transaction, moment, process)?;
        let sum = |of: fn(&Thread) -> Option<u64>| -> Option<i64> {
            let counts: Vec<u64> = process.threads.iter().filter_map(of).collect();
            (!counts.is_empty())
                .then(|| counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count)).cast_signed())
        };
        let bandwidths: Vec<f64> = process.threads.iter().filter_map(|thread| Some(thread.bandwidth?.0)).collect();
        transaction.prepare_cached("INSERT INTO process_epoch VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?.execute(params![
            moment.number,
            id,
            num::narrow(process.threads.len()),
            cpu_seconds(process),
            sum(|thread| thread.instructions),
            sum(|thread| thread.cycles),
            sum(|thread| thread.llc_misses),
            (!bandwidths.is_empty()).then(|| bandwidths.iter().sum::<f64>()),
        ])?;
        self.insert_pages(transaction, moment.number, id, process)
    }

    /// Inserts where a process's pages are, if that changed since it was last written.
    fn insert_pages(
        &mut self,
        transaction: &Transaction<'_>,
        epoch: u64,
        id: i64,
        process: &Process,
    ) -> rusqlite::Result<()> {
        let Some(pages) = self.ids.changed_pages(process) else { return Ok(()) };
        let mut insert = transaction.prepare_cached("INSERT INTO pages VALUES (?, ?, ?, ?)")?;
        for (node, pages) in pages.iter() {
            insert.execute(params![epoch, id, node.0, pages.0.cast_signed()])?;
        }
        Ok(())
    }

    fn insert_thread(
        &mut self,
        transaction: &Transaction<'_>,
        moment: &Moment,
        process: &Process,
        thread: &Thread,
    ) -> rusqlite::Result<()> {
        let of = self.process(transaction, moment, process)?;
        let id = self.ids.thread(transaction, &moment.sample, (process.pid, of), thread)?;
        transaction.prepare_cached("INSERT INTO thread_epoch VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?.execute(params![
            moment.number,
            id,
            thread.cpu.map(|cpu| cpu.0),
            thread.cpu_time.map(|time| time.0),
            thread.instructions.map(u64::cast_signed),
            thread.cycles.map(u64::cast_signed),
            thread.llc_misses.map(u64::cast_signed),
            thread.bandwidth.map(|bandwidth| bandwidth.0),
        ])?;
        Ok(())
    }
}

/// CPU time of all threads; `None` if it is not known for any thread.
fn cpu_seconds(process: &Process) -> Option<f64> {
    let times: Vec<f64> = process.threads.iter().filter_map(|thread| Some(thread.cpu_time?.0)).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// The entries with the most CPU time, without those that used none. Entries without a measured
/// time come last.
fn busiest<T: Clone>(all: impl Iterator<Item = T>, most: usize, time: impl Fn(&T) -> Option<f64>) -> Vec<T> {
    let timed = all.map(|one| (time(&one), one)).filter(|(time, _)| time.is_none_or(|time| time > 0.0));
    let mut timed: Vec<(Option<f64>, T)> = timed.collect();
    timed.sort_by(|(a, _), (b, _)| b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0)));
    timed.truncate(most);
    timed.into_iter().map(|(_, one)| one).collect()
}

fn insert_nodes(transaction: &Transaction<'_>, moment: &Moment, seen: Option<&Observation>) -> rusqlite::Result<()> {
    let busy = seen.map(busy_cpus).unwrap_or_default();
    let mut insert = transaction.prepare_cached("INSERT INTO node_epoch VALUES (?, ?, ?, ?)")?;
    for node in moment.sample.topology.nodes() {
        let free = moment.sample.free.get(node.id).map(|bytes| bytes.0.cast_signed());
        insert.execute(params![moment.number, node.id.0, free, busy.get(&node.id)])?;
    }
    Ok(())
}

/// Number of busy CPUs, by node.
fn busy_cpus(seen: &Observation) -> BTreeMap<NodeId, f64> {
    let mut busy = BTreeMap::new();
    for (_, thread) in seen.threads() {
        let node = thread.cpu.and_then(|cpu| seen.machine.cpu(cpu)).and_then(|cpu| cpu.node);
        if let (Some(node), Some(time)) = (node, thread.cpu_time) {
            *busy.entry(node).or_insert(0.0) += time.0 / seen.interval.0;
        }
    }
    busy
}

fn insert_latency(transaction: &Transaction<'_>, moment: &Moment, before: Option<&Sample>) -> rusqlite::Result<()> {
    let Some(latency) = &moment.sample.latency else { return Ok(()) };
    if before.is_some_and(|before| before.latency.as_ref() == Some(latency)) {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached("INSERT INTO latency VALUES (?, ?, ?, ?)")?;
    for (from, row) in latency.nodes().iter().zip(latency.rows()) {
        for (to, cell) in latency.nodes().iter().zip(row) {
            if let Some(cell) = cell {
                insert.execute(params![moment.number, from.0, to.0, cell.0])?;
            }
        }
    }
    Ok(())
}

//! The readings of all threads, by column, as differences from each thread's last reading. A column
//! contains only threads that have the reading, so a machine without counters pays nothing for
//! them.

use super::column::Column;
use super::error::{FrameError, wrong};
use isobar_model::{Count, Counters, CpuId, Seconds, num};
use serde::{Deserialize, Serialize};

/// Bits of `present`, and the number of counters after them.
const CPU: u8 = 1;
const CPU_TIME: u8 = 2;
const FIRST_COUNTER: u8 = 4;
const COUNTERS: usize = 6;
/// Number of counters in files that were written before there were [`Later`] ones.
const FIRST: usize = 5;

/// One column per reading; a counter has three.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    cpu: Column,
    /// Whether all CPU times are whole nanoseconds and are written as such. Otherwise they are
    /// written as the bits of a floating-point number.
    whole: bool,
    cpu_time: Column,
    values: [Column; FIRST],
    enabled: [Column; FIRST],
    /// By how much less the running time grew than the time enabled.
    waited: [Column; FIRST],
    /// The counters after these: see [`super::parts::Frame::pack`].
    #[serde(skip)]
    pub later: Later,
}

/// The columns of counters that files of earlier versions do not have: value, time enabled, and by
/// how much less the running time grew.
pub type Later = [[Column; 3]; COUNTERS - FIRST];

/// The readings of a thread that change constantly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    pub cpu: Option<CpuId>,
    pub cpu_time: Option<Seconds>,
    pub counters: Counters,
}

impl Readings {
    /// Which readings are present, as bits.
    pub fn present(&self) -> u8 {
        let counters = list(&self.counters).into_iter().enumerate();
        let bits = counters.map(|(at, count)| if count.is_some() { FIRST_COUNTER << at } else { 0 });
        let cpu = if self.cpu.is_some() { CPU } else { 0 };
        let time = if self.cpu_time.is_some() { CPU_TIME } else { 0 };
        bits.fold(cpu | time, |all, bit| all | bit)
    }

    /// Whether the CPU time is a whole number of nanoseconds.
    pub fn is_whole(&self) -> bool {
        self.cpu_time.is_none_or(|time| nanoseconds(time).is_some())
    }
}

impl Columns {
    pub fn new(whole: bool) -> Self {
        Self { whole, ..Self::default() }
    }

    /// Adds a thread's readings, and stores them as its last readings.
    pub fn push(&mut self, before: &mut Readings, now: &Readings) {
        if let Some(cpu) = now.cpu {
            self.cpu.0.push(i64::from(cpu.0) - i64::from(before.cpu.unwrap_or_default().0));
        }
        if let Some(time) = now.cpu_time {
            let bits = |time: Seconds| if self.whole { nanoseconds(time).unwrap_or(0) } else { time.0.to_bits() };
            self.cpu_time.0.push(difference(bits(time), bits(before.cpu_time.unwrap_or_default())));
        }
        let counters = list(&now.counters).into_iter().zip(list(&before.counters)).enumerate();
        for (at, (count, last)) in counters {
            let (Some(count), last) = (count, last.unwrap_or_default()) else { continue };
            let enabled = difference(count.enabled, last.enabled);
            let [values, enabled_for, waited] = self.counter_mut(at);
            values.0.push(difference(count.value, last.value));
            enabled_for.0.push(enabled);
            waited.0.push(enabled.wrapping_sub(difference(count.running, last.running)));
        }
        before.clone_from(now);
    }

    /// The three columns of a counter.
    fn counter(&self, at: usize) -> [&Column; 3] {
        match at.checked_sub(FIRST) {
            Some(at) => self.later[at].each_ref(),
            None => [&self.values[at], &self.enabled[at], &self.waited[at]],
        }
    }

    fn counter_mut(&mut self, at: usize) -> [&mut Column; 3] {
        match at.checked_sub(FIRST) {
            Some(at) => self.later[at].each_mut(),
            None => [&mut self.values[at], &mut self.enabled[at], &mut self.waited[at]],
        }
    }

    /// A reader that returns the same readings, thread by thread.
    pub fn reader(&self) -> Reader<'_> {
        let counter = |at: usize| self.counter(at).map(|column| column.0.iter());
        Reader {
            whole: self.whole,
            cpu: self.cpu.0.iter(),
            cpu_time: self.cpu_time.0.iter(),
            counters: std::array::from_fn(counter),
        }
    }
}

/// Reads columns in the order in which they were filled.
pub struct Reader<'a> {
    whole: bool,
    cpu: Iter<'a>,
    cpu_time: Iter<'a>,
    counters: [[Iter<'a>; 3]; COUNTERS],
}

type Iter<'a> = std::slice::Iter<'a, i64>;

impl Reader<'_> {
    /// The next thread's readings, given its `last` ones; `present` says which readings exist.
    pub fn next(&mut self, present: u8, last: &Readings) -> Result<Readings, FrameError> {
        let cpu = (present & CPU != 0).then(|| cpu(next(&mut self.cpu)?, last.cpu)).transpose()?;
        let time = (present & CPU_TIME != 0).then(|| self.time(last.cpu_time)).transpose()?;
        let before = list(&last.counters);
        let mut counts = [None; COUNTERS];
        for (at, (count, columns)) in counts.iter_mut().zip(&mut self.counters).enumerate() {
            if present & (FIRST_COUNTER << at) != 0 {
                *count = Some(counted(columns, before[at].unwrap_or_default())?);
            }
        }
        Ok(Readings { cpu, cpu_time: time, counters: counters(counts) })
    }

    fn time(&mut self, last: Option<Seconds>) -> Result<Seconds, FrameError> {
        let (grown, last) = (next(&mut self.cpu_time)?, last.unwrap_or_default());
        if self.whole {
            let before = nanoseconds(last).unwrap_or(0);
            return Ok(seconds(before.wrapping_add_signed(grown)));
        }
        Ok(Seconds(f64::from_bits(last.0.to_bits().wrapping_add_signed(grown))))
    }

    /// Whether everything has been read.
    pub fn is_done(&self) -> bool {
        let counters = self.counters.iter().flatten();
        [&self.cpu, &self.cpu_time].into_iter().chain(counters).all(|column| column.len() == 0)
    }
}

fn next(column: &mut Iter<'_>) -> Result<i64, FrameError> {
    column.next().copied().ok_or_else(|| wrong("a column is too short"))
}

fn cpu(grown: i64, last: Option<CpuId>) -> Result<CpuId, FrameError> {
    let id = i64::from(last.unwrap_or_default().0).checked_add(grown).and_then(|id| u32::try_from(id).ok());
    id.map(CpuId).ok_or_else(|| wrong("a CPU number below 0"))
}

fn counted(columns: &mut [Iter<'_>; 3], last: Count) -> Result<Count, FrameError> {
    let [value, enabled, waited] = columns;
    let (value, enabled, waited) = (next(value)?, next(enabled)?, next(waited)?);
    Ok(Count {
        value: last.value.wrapping_add_signed(value),
        enabled: last.enabled.wrapping_add_signed(enabled),
        running: last.running.wrapping_add_signed(enabled.wrapping_sub(waited)),
    })
}

fn difference(now: u64, before: u64) -> i64 {
    now.wrapping_sub(before).cast_signed()
}

const fn list(counters: &Counters) -> [Option<Count>; COUNTERS] {
    let Counters { instructions, cycles, llc_references, llc_misses, cache_transfers, bytes } = *counters;
    [instructions, cycles, llc_references, llc_misses, bytes, cache_transfers]
}

const fn counters(list: [Option<Count>; COUNTERS]) -> Counters {
    let [instructions, cycles, llc_references, llc_misses, bytes, cache_transfers] = list;
    Counters { instructions, cycles, llc_references, llc_misses, cache_transfers, bytes }
}

const A_SECOND: f64 = 1e9;

/// A time as whole nanoseconds, if that is exact.
fn nanoseconds(time: Seconds) -> Option<u64> {
    let rounded = num::round(time.0 * A_SECOND);
    (seconds(rounded).0.to_bits() == time.0.to_bits()).then_some(rounded)
}

fn seconds(nanoseconds: u64) -> Seconds {
    Seconds(num::float(nanoseconds) / A_SECOND)
}

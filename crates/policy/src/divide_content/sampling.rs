//! LFOC+'s sampling mode for one program (section II.B). The program is alone in a sampling
//! partition, and all others are in the rest of the cache. One reading follows another, each with
//! another number of ways, until the program's class is clear.
//!
//! ```text
//! with the fewest ways: hardly a miss
//!     -> light sharing
//! with the most ways: no slower with the fewest
//!     -> streaming if it misses much, else light sharing
//! with one way more each time, until it is no slower than with the most
//!     -> by its curve; streaming if it misses much and is hardly slower with the ways of a
//!        streaming partition
//! ```
//!
//! *Departure from the paper*: the paper only says that different heuristics save it most sizes.
//! Here the largest partition is read second: a program that is as fast with the fewest ways is not
//! sensitive, and finding that out takes two readings instead of one per way. Between the last
//! reading and the largest partition the curve is a straight line, which is within 5 % by the rule
//! that ended the sampling.

use super::config::Config;
use super::profile::{Profile, slowdown};
use super::reading::Reading;
use isobar_model::{Pid, num};

/// Epochs without a reading after which a sampling is given up.
const PATIENCE: u32 = 5;

/// The sizes that a sampling partition may have, in ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Fewest ways.
    pub least: usize,
    /// Most ways: what the others can spare.
    pub most: usize,
    /// Ways of the LLC.
    pub ways: usize,
}

/// What to do after a reading.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Measure with this number of ways.
    Ways(usize),
    /// The program is known.
    Done(Profile),
    /// It cannot be measured.
    GiveUp,
}

/// The sampling of one program.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// The program.
    pub pid: Pid,
    /// Ways of the sampling partition now.
    pub ways: usize,
    span: Span,
    readings: Vec<Option<Reading>>,
    /// Readings with the present ways so far.
    taken: u32,
    missed: u32,
}

impl Sampling {
    /// Begins with the fewest ways.
    #[must_use]
    pub fn new(pid: Pid, span: Span) -> Self {
        Self { pid, ways: span.least, span, readings: vec![None; span.most], taken: 0, missed: 0 }
    }

    /// Takes the reading of an epoch that the program spent with [`Sampling::ways`].
    pub fn read(&mut self, reading: Option<Reading>, config: &Config) -> Next {
        let Some(reading) = reading else {
            self.missed += 1;
            return if self.missed >= PATIENCE { Next::GiveUp } else { Next::Ways(self.ways) };
        };
        (self.missed, self.taken) = (0, self.taken + 1);
        let slot = &mut self.readings[self.ways - 1];
        *slot = Some(slot.map_or(reading, |mean| mean.towards(&reading, 1.0 / f64::from(self.taken))));
        if self.taken < config.probe_epochs {
            return Next::Ways(self.ways);
        }
        let next = next(&self.readings, self.span, config);
        if let Next::Ways(ways) = next {
            (self.ways, self.taken) = (ways, 0);
        }
        next
    }
}

/// The next number of ways to measure, or the result of the readings.
fn next(readings: &[Option<Reading>], span: Span, config: &Config) -> Next {
    // The ways that streaming programs get: with these or more, their curve is flat.
    let (classes, streaming_ways) = (config.classes(), num::index(config.ways_streaming));
    let measured = || Profile::measured(readings, span.ways, classes, streaming_ways);
    let done = || measured().map_or(Next::GiveUp, Next::Done);
    let Some(fewest) = readings[span.least - 1] else { return Next::Ways(span.least) };
    if fewest.llcmpkc < config.light_llcmpkc {
        return done();
    }
    let Some(most) = readings[span.most - 1] else { return Next::Ways(span.most) };
    let streams = most.llcmpkc >= classes.streaming_llcmpkc;
    let limit = |ways| {
        if streams && ways >= streaming_ways { classes.streaming_never } else { classes.sensitive_slowdown }
    };
    for ways in span.least..span.most {
        match readings[ways - 1] {
            None => return Next::Ways(ways),
            Some(reading) if slowdown(&reading, &most) < limit(ways) => break,
            Some(_) => {}
        }
    }
    done()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::CacheClass::{self, LightSharing, Sensitive, Streaming};

    /// The limits of a static study.
    fn limits(probe_epochs: u32) -> Config {
        Config { streaming_llcmpkc: 14.0, streaming_never: 1.06, probe_epochs, ..Config::default() }
    }

    /// Samples a program with an IPC and an LLCMPKC by ways on an LLC of 6 ways. Returns the ways
    /// of each epoch, the class, and the critical point.
    fn sampled(ipc: [f64; 6], llcmpkc: [f64; 6], rules: &Config) -> (Vec<usize>, CacheClass, usize) {
        let mut sampling = Sampling::new(Pid(1), Span { least: 1, most: 5, ways: 6 });
        let mut epochs = vec![sampling.ways];
        loop {
            let (ipc, llcmpkc) = (ipc[sampling.ways - 1], llcmpkc[sampling.ways - 1]);
            match sampling.read(Some(Reading { ipc, llcmpkc, mpki: llcmpkc / ipc }), rules) {
                Next::Ways(ways) => epochs.push(ways),
                Next::Done(profile) => return (epochs, profile.class, profile.critical),
                Next::GiveUp => panic!("{sampling:?}"),
            }
        }
    }

    #[test]
    fn each_class_takes_as_few_epochs_as_it_can() {
        let flat = [2.0; 6];
        let steep = [40.0, 31.6, 30.0, 30.0, 30.0, 30.0];
        let growing = [1.0, 1.2, 1.5, 1.93, 2.0, 2.0];
        let table = [
            ("hardly misses", flat, [0.4; 6], vec![1], LightSharing, 1),
            ("misses little, ways do not matter", flat, [5.0; 6], vec![1, 5], LightSharing, 1),
            ("misses much, ways do not matter", flat, [30.0; 6], vec![1, 5], Streaming, 1),
            (
                "one way is too few, two are enough",
                [1.8, 2.0, 2.0, 2.0, 2.0, 2.0],
                [9.0; 6],
                vec![1, 5, 2],
                LightSharing,
                2,
            ),
            ("misses much, one way is too few", [1.6, 1.9, 2.0, 2.0, 2.0, 2.0], steep, vec![1, 5, 2], Streaming, 3),
            // 2.0 / 1.93 = 1.036: the fourth way ends it.
            ("ways matter", growing, [9.0, 8.0, 7.0, 6.0, 5.0, 5.0], vec![1, 5, 2, 3, 4], Sensitive, 4),
            ("ways matter to the end", [1.0, 1.2, 1.4, 1.6, 2.0, 2.0], [9.0; 6], vec![1, 5, 2, 3, 4], Sensitive, 5),
        ];
        for (what, ipc, llcmpkc, epochs, class, critical) in table {
            assert_eq!(sampled(ipc, llcmpkc, &limits(1)), (epochs, class, critical), "{what}");
        }
    }

    #[test]
    fn a_reading_may_take_several_epochs() {
        let rules = limits(2);
        assert_eq!(sampled([2.0; 6], [30.0; 6], &rules).0, [1, 1, 5, 5]);
        let mut sampling = Sampling::new(Pid(1), Span { least: 1, most: 5, ways: 6 });
        let with = |ipc| Some(Reading { ipc, llcmpkc: 30.0, mpki: 30.0 / ipc });
        sampling.read(with(1.0), &rules);
        sampling.read(with(2.0), &rules);
        assert_eq!(sampling.readings[0].map(|reading| reading.ipc), Some(1.5));
    }

    #[test]
    fn what_cannot_be_measured_is_given_up() {
        let mut sampling = Sampling::new(Pid(1), Span { least: 1, most: 5, ways: 6 });
        let answers: Vec<Next> = (0..5).map(|_| sampling.read(None, &limits(1))).collect();
        assert_eq!(answers[..4], vec![Next::Ways(1); 4]);
        assert_eq!(answers[4], Next::GiveUp);
    }
}

//! The settings of LFOC+.

use crate::settings::{ConfigError, Section, at_least, between, check, settings};
use isobar_partition::class::ClassLimits;
use isobar_partition::heuristics::lfoc_plus;

settings! {
    /// Settings of LFOC+. An epoch is one decision (the paper partitions twice a second).
    pub struct Config {
        /// `max_str_parts`: streaming programs that one streaming partition is meant for (algorithm
        /// 1: 5).
        pub max_streaming_parts: u32 = 5,
        /// `gaps_per_str`: light-sharing programs that fit in the place of one streaming program
        /// (algorithm 1: 3).
        pub gaps_per_streaming: u32 = 3,
        /// `ways_str`: ways of a streaming partition (algorithm 1: 2).
        pub ways_streaming: u32 = 2,
        /// Per cent of the memory bandwidth that threads of streaming clusters may take, 10 to 100
        /// (resctrl's MB); 0 leaves it as it is.
        pub streaming_bandwidth_percent: u32 = 0,
        /// Seconds for which a program runs before it is sampled (section II.B: "after a warm-up
        /// period").
        pub warm_up_seconds: f64 = 2.0,
        /// Epochs for which a program is measured with each number of ways.
        pub probe_epochs: u32 = 1,
        /// LLC misses per 1000 cycles with the fewest ways below which a program shares lightly,
        /// whatever its curve.
        pub light_llcmpkc: f64 = 0.5,
        /// LLC misses per 1000 cycles from which on a program streams, if ways do not matter to it.
        /// Less than in a static study (14): a program measured beside others waits for memory
        /// longer, and so misses less than alone.
        pub streaming_llcmpkc: f64 = 10.0,
        /// A streaming program has a number of ways with at most this slowdown (`study`'s limit).
        pub streaming_slowdown: f64 = ClassLimits::default().streaming_slowdown,
        /// From `ways_streaming` on, no number of ways gives a streaming program this slowdown or
        /// more. More than in a static study (1.06), since the traffic of other programs changes
        /// between readings.
        pub streaming_never: f64 = 1.1,
        /// A program is sensitive if two ways or more leave it this slowdown or more; the critical
        /// point is the first number of ways below it (section II.B: 5 %).
        pub sensitive_slowdown: f64 = ClassLimits::default().sensitive_slowdown,
        /// Change, in per cent, of a program's misses per instruction against its curve that does
        /// not match its class.
        pub transition_percent: f64 = 50.0,
        /// Epochs in a row of such a change that make a class transition: the program is sampled
        /// again.
        pub transition_epochs: u32 = 3,
        /// Epochs after a sampling in which the program is not sampled again; doubled each time
        /// that its profile soon is wrong again.
        pub rest_epochs: u32 = 10,
        /// The longest such rest, in epochs.
        pub longest_rest_epochs: u32 = 320,
        /// Programs whose profiles are kept by name for their next run; 0: none.
        pub remembered_programs: u32 = 256,
    }
}

impl Config {
    /// The limits between the classes.
    #[must_use]
    pub const fn classes(&self) -> ClassLimits {
        ClassLimits {
            streaming_slowdown: self.streaming_slowdown,
            streaming_llcmpkc: self.streaming_llcmpkc,
            streaming_never: self.streaming_never,
            sensitive_slowdown: self.sensitive_slowdown,
        }
    }

    /// Algorithm 1's parameters on an LLC that allows this number of clusters and whose partitions
    /// have at least `min_ways` ways.
    #[must_use]
    pub fn algorithm(&self, clusters: usize, min_ways: usize) -> lfoc_plus::Settings {
        let index = isobar_model::num::index;
        lfoc_plus::Settings {
            max_streaming_parts: index(self.max_streaming_parts),
            gaps_per_streaming: index(self.gaps_per_streaming),
            ways_streaming: index(self.ways_streaming),
            max_clusters: Some(clusters),
            min_ways,
        }
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        at_least(section, "max_streaming_parts", self.max_streaming_parts, 1)?;
        at_least(section, "ways_streaming", self.ways_streaming, 1)?;
        at_least(section, "probe_epochs", self.probe_epochs, 1)?;
        at_least(section, "transition_epochs", self.transition_epochs, 1)?;
        at_least(section, "longest_rest_epochs", self.longest_rest_epochs, self.rest_epochs)?;
        between(section, "streaming_slowdown", self.streaming_slowdown, 1.0, 100.0)?;
        between(section, "streaming_never", self.streaming_never, 1.0, 100.0)?;
        between(section, "sensitive_slowdown", self.sensitive_slowdown, 1.0, 100.0)?;
        between(section, "warm_up_seconds", self.warm_up_seconds, 0.0, 86_400.0)?;
        between(section, "light_llcmpkc", self.light_llcmpkc, 0.0, 1000.0)?;
        between(section, "streaming_llcmpkc", self.streaming_llcmpkc, 0.0, 1000.0)?;
        between(section, "transition_percent", self.transition_percent, 1.0, 1e6)?;
        let percent = self.streaming_bandwidth_percent;
        let possible = matches!(percent, 0 | 10..=100);
        check(possible, section, "streaming_bandwidth_percent", percent, "10 to 100, or 0 for none")
    }
}

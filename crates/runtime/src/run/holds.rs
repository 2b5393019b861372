//! Holds off what a person had taken back: it is not done again at once, whatever the policy asks.
//! The time doubles with each repetition, as after a failed trial. Pure.

use isobar_model::{Action, LlcId, Observation, Pid, Seconds, Subject, Tid};
use std::collections::BTreeMap;

/// Duration in seconds after the first time.
const FIRST: f64 = 60.0;
/// Maximum duration in seconds: a day.
const LONGEST: f64 = 86_400.0;

/// What is held off. Ways are held off for the whole cache, because policies give clusters new
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Thread(Pid, Tid),
    Pages(Pid),
    Allocation(Pid),
    Ways(LlcId),
}

impl Held {
    fn by(action: &Action) -> Option<Self> {
        Some(match Subject::of(action)? {
            Subject::Thread(pid, tid) => Self::Thread(pid, tid),
            Subject::Pages(pid) => Self::Pages(pid),
            Subject::Allocation(pid, _) => Self::Allocation(pid),
            Subject::Cluster(llc, _) => Self::Ways(llc),
        })
    }

    const fn pid(self) -> Option<Pid> {
        match self {
            Self::Thread(pid, _) | Self::Pages(pid) | Self::Allocation(pid) => Some(pid),
            Self::Ways(_) => None,
        }
    }
}

/// What is held off, and until when.
#[derive(Clone, Debug, Default)]
pub struct Holds(BTreeMap<Held, Hold>);

#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    until: f64,
    times: u32,
}

impl Holds {
    /// Records that an action was taken back now.
    pub fn hold(&mut self, action: &Action, now: Seconds) {
        let Some(held) = Held::by(action) else { return };
        let hold = self.0.entry(held).or_default();
        hold.until = now.0 + (FIRST * f64::from(1u32 << hold.times.min(16))).min(LONGEST);
        hold.times += 1;
    }

    /// Why an action is not carried out now; `None` if it may be.
    pub fn why_not(&self, action: &Action, now: Seconds) -> Option<String> {
        // Removing a cluster is also a form of taking back.
        if matches!(action, Action::SetWays { threads, .. } if threads.is_empty()) {
            return None;
        }
        let hold = self.0.get(&Held::by(action)?).filter(|hold| now.0 < hold.until)?;
        let left = (hold.until - now.0).ceil();
        let times = if hold.times == 1 { String::new() } else { format!(" {} times", hold.times) };
        Some(format!("taken back by hand{times}: held off for another {left} s"))
    }

    /// Forgets processes that have ended.
    pub fn retain_alive(&mut self, seen: &Observation) {
        self.0.retain(|held, _| held.pid().is_none_or(|pid| seen.process(pid).is_some()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::CpuId;

    fn to(tid: u32) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(tid), cpu: CpuId(0), cpus: None, reason: "because".into() }
    }

    #[test]
    fn each_time_doubles_and_others_are_free() {
        let mut holds = Holds::default();
        assert_eq!(holds.why_not(&to(1), Seconds(0.0)), None);
        let mut now = 10.0;
        for length in [60.0, 120.0, 240.0] {
            holds.hold(&to(1), Seconds(now));
            assert!(holds.why_not(&to(1), Seconds(now + length - 1.0)).is_some(), "{length}");
            assert_eq!(holds.why_not(&to(1), Seconds(now + length)), None);
            assert_eq!(holds.why_not(&to(2), Seconds(now)), None);
            now += length;
        }
        holds.hold(&to(1), Seconds(now));
        let told = holds.why_not(&to(1), Seconds(now)).unwrap();
        assert_eq!(told, "taken back by hand 4 times: held off for another 480 s");
    }

    #[test]
    fn a_cache_is_held_off_as_a_whole_and_giving_back_is_not() {
        let ways = |cluster: &str, threads: &[u32]| Action::SetWays {
            llc: LlcId(0),
            cluster: cluster.into(),
            way_mask: 1,
            memory_bandwidth_percent: None,
            threads: threads.iter().map(|tid| Tid(*tid)).collect(),
            reason: "because".into(),
        };
        let mut holds = Holds::default();
        holds.hold(&ways("a", &[1]), Seconds(0.0));
        assert!(holds.why_not(&ways("b", &[2]), Seconds(1.0)).is_some());
        assert_eq!(holds.why_not(&ways("a", &[]), Seconds(1.0)), None);
    }
}

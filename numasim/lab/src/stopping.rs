//! Decides when an experiment begins no further boot: when the intervals are narrow enough, or when
//! boots or host time are used up. The decision depends on how wide intervals are and never on
//! where they lie, so no contender can gain by the moment at which boots end. Pure: the caller
//! provides the time.

use crate::stats::Ratio;
use crate::summary::Summary;
use numasim_model::num;
use std::time::Duration;

/// Least number of boots for [`Rule::until_percent`]: intervals of fewer boots may be narrow by
/// chance.
pub const LEAST_BOOTS: u32 = 3;
/// Largest number of boots with `--until`, unless `--repeats` says otherwise.
pub const MOST_BOOTS: u32 = 100;

/// The conditions that end an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Intervals are narrow enough if they reach no further than this from their mean, in per cent
    /// of the mean.
    pub until_percent: Option<f64>,
    /// Largest number of boots.
    pub most: u32,
    /// Host time that may be used.
    pub budget: Option<Duration>,
}

/// How far an experiment has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Boots that were begun, including those that have ended.
    pub begun: u32,
    /// Boots that have ended.
    pub ended: u32,
    /// How far each contender's interval reaches from its mean, in per cent; `None` if it has no
    /// interval. Contenders without a run that counts are left out.
    pub half_widths: Vec<Option<f64>>,
    /// Host time that has been used.
    pub spent: Duration,
    /// Duration of a boot: the longest so far; `None` before the first has ended.
    pub boot: Option<Duration>,
}

/// Why no further boot is begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// Every interval is narrow enough.
    Narrow {
        /// How far the widest interval reaches, in per cent.
        widest: f64,
        /// How far intervals may reach, in per cent.
        until: f64,
    },
    /// Nothing can be compared, and further boots would not change that.
    Nothing,
    /// All boots have been begun.
    Boots(u32),
    /// One more boot would not end within the budget.
    Budget {
        /// The budget in minutes of host time.
        minutes: f64,
        /// How far the widest interval reaches, in per cent; `None` if a contender has none.
        widest: Option<f64>,
    },
}

/// `None` if a further boot is to be begun, else the reason why not.
#[must_use]
pub fn next(rule: &Rule, so_far: &Progress) -> Option<Stop> {
    narrow(rule, so_far).or_else(|| spent(rule, so_far))
}

fn narrow(rule: &Rule, so_far: &Progress) -> Option<Stop> {
    let until = rule.until_percent.filter(|_| so_far.ended >= LEAST_BOOTS)?;
    if so_far.half_widths.is_empty() {
        return Some(Stop::Nothing);
    }
    let widest = widest(so_far)?;
    (widest <= until).then_some(Stop::Narrow { widest, until })
}

fn spent(rule: &Rule, so_far: &Progress) -> Option<Stop> {
    if so_far.begun >= rule.most {
        return Some(Stop::Boots(rule.most));
    }
    let budget = rule.budget?;
    let over = so_far.spent + so_far.boot.unwrap_or_default() > budget;
    over.then(|| Stop::Budget { minutes: budget.as_secs_f64() / 60.0, widest: widest(so_far) })
}

/// The widest interval; `None` if there is none, or if a contender has none yet.
fn widest(so_far: &Progress) -> Option<f64> {
    so_far.half_widths.first()?;
    so_far.half_widths.iter().try_fold(0.0, |widest: f64, one| Some(widest.max((*one)?)))
}

/// The half widths for [`Progress`], of the contenders that can be compared. Boots in which a run
/// did not count are no pairs, so a contender may have fewer pairs than boots have ended.
#[must_use]
pub fn half_widths(summary: &Summary) -> Vec<Option<f64>> {
    let ratios = summary.rows.iter().filter_map(|row| row.vs_baseline);
    let enough = |ratio: &Ratio| ratio.pairs >= num::index(LEAST_BOOTS);
    ratios.map(|ratio| Some(ratio).filter(enough)?.half_width_percent()).collect()
}

impl Stop {
    /// The reason in a sentence.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::Narrow { widest, until } => {
                format!(
                    "stopped: every 95 % interval reaches at most {widest:.2} % from its mean (asked for: {until} %)"
                )
            }
            Self::Nothing => {
                format!("stopped: after {LEAST_BOOTS} boots no contender has a run to compare with the baseline")
            }
            Self::Boots(1) => "stopped: the one boot that was asked for is done".to_owned(),
            Self::Boots(most) => format!("stopped: all {most} boots are done"),
            Self::Budget { minutes, widest } => {
                let reach = |widest| format!("the widest 95 % interval reaches {widest:.2} % from its mean");
                let widest = widest.map_or_else(|| "not every contender has an interval".to_owned(), reach);
                format!("stopped: one more boot would overrun the budget of {minutes} min; {widest}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Measures;
    use crate::summary::{Counted, of_boots};

    const RULE: Rule = Rule { until_percent: Some(2.0), most: 10, budget: None };

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    fn after(ended: u32, half_widths: &[Option<f64>]) -> Progress {
        Progress { begun: ended, ended, half_widths: half_widths.to_vec(), ..Progress::default() }
    }

    #[test]
    fn boots_go_on_until_the_widest_interval_is_narrow() {
        assert_eq!(next(&RULE, &after(3, &[Some(1.0), Some(2.1)])), None);
        assert_eq!(next(&RULE, &after(4, &[Some(1.0), None])), None);
        let narrow = Stop::Narrow { widest: 2.0, until: 2.0 };
        assert_eq!(next(&RULE, &after(4, &[Some(1.0), Some(2.0)])), Some(narrow));
        assert!(narrow.in_words().contains("at most 2.00 % from its mean (asked for: 2 %)"));
    }

    /// Two boots that happen to agree have an interval of no width.
    #[test]
    fn fewer_than_three_boots_never_do() {
        assert_eq!(next(&RULE, &after(2, &[Some(0.0)])), None);
        assert!(matches!(next(&RULE, &after(3, &[Some(0.0)])), Some(Stop::Narrow { .. })));
        assert_eq!(next(&RULE, &after(2, &[])), None);
        assert_eq!(next(&RULE, &after(3, &[])), Some(Stop::Nothing));
    }

    /// Three boots have ended; in one of them a run did not count.
    #[test]
    fn two_pairs_are_no_interval_however_many_boots_have_ended() {
        let boot = |(repeat, counts): (u32, bool)| {
            let run = || Measures { seconds: [("p".to_owned(), 2.0)].into(), ..Measures::default() };
            let names = ["linux", "x"].into_iter().filter(|name| counts || *name == "linux");
            Counted { repeat, runs: names.map(|name| (name.to_owned(), run())).collect(), ..Counted::default() }
        };
        let widths = |third: bool| {
            let boots: Vec<Counted> = [(1, true), (2, true), (3, third)].map(boot).into();
            half_widths(&of_boots("e", &boots))
        };
        assert_eq!((widths(true), widths(false)), (vec![Some(0.0)], vec![None]));
    }

    #[test]
    fn the_number_of_boots_ends_it() {
        assert_eq!(next(&RULE, &after(10, &[Some(9.0)])), Some(Stop::Boots(10)));
        let begun = Progress { begun: 10, ..after(8, &[Some(9.0)]) };
        assert_eq!(next(&RULE, &begun), Some(Stop::Boots(10)));
        let fixed = Rule { until_percent: None, ..RULE };
        assert_eq!(next(&fixed, &after(9, &[Some(0.0)])), None, "without --until narrow intervals end nothing");
    }

    /// Boots of 7 minutes and a budget of 30: the fourth would end after 28 minutes, a fifth after
    /// 35.
    #[test]
    fn no_boot_is_begun_that_would_end_after_the_budget() {
        let rule = Rule { budget: Some(minutes(30)), ..RULE };
        let spent = |spent, boot| Progress { spent: minutes(spent), boot, ..after(3, &[Some(9.0)]) };
        assert_eq!(next(&rule, &spent(21, Some(minutes(7)))), None);
        let over = Stop::Budget { minutes: 30.0, widest: Some(9.0) };
        assert_eq!(next(&rule, &spent(28, Some(minutes(7)))), Some(over));
        assert_eq!(next(&rule, &spent(28, None)), None, "what the first boot takes is not known");
        let budget_alone = Rule { until_percent: None, ..rule };
        let unknown = next(&budget_alone, &Progress { half_widths: Vec::new(), ..spent(28, Some(minutes(7))) });
        assert!(unknown.unwrap().in_words().ends_with("not every contender has an interval"));
        assert!(over.in_words().contains("budget of 30 min; the widest 95 % interval reaches 9.00 %"));
    }

    /// Which contender is ahead changes nothing: the rule sees only widths.
    #[test]
    fn a_winner_and_a_loser_of_one_width_end_alike() {
        let ratio = |pairs: &[(f64, f64)]| crate::stats::ratio(pairs).unwrap().half_width_percent().unwrap();
        let (ahead, behind) =
            (ratio(&[(1.0, 2.0), (1.02, 2.0), (0.99, 2.0)]), ratio(&[(4.0, 2.0), (4.08, 2.0), (3.96, 2.0)]));
        assert!((ahead - behind).abs() < 1e-9, "{ahead} {behind}");
    }
}

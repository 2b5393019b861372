//! The score: a line for each end, an account of each failure, and a summary by kind.

use crate::kinds::Kind;
use crate::trial::Outcome;
use crate::verdict::Class;
use std::collections::BTreeMap;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All ends passed.
    Passed,
    /// An end failed.
    Failed,
    /// No end failed, but threads were seldom bound: this machine was too slow for the test.
    ProvesLittle,
}

/// Number of lines of isobar's output that an account shows, from the end.
const LINES: usize = 14;
/// Maximum columns of such a line.
const COLUMNS: usize = 300;
/// Maximum columns of the command line: enough for all of it.
const TYPED: usize = 2000;

/// Passed, failed and skipped ends.
#[derive(Default)]
struct Count {
    passed: u32,
    failed: u32,
    skipped: u32,
}

/// The score of a run.
#[derive(Default)]
pub struct Score {
    kinds: BTreeMap<Kind, Count>,
    classes: BTreeMap<Class, u32>,
    bound: u32,
    reported: usize,
    same: (usize, usize),
    not_done: u32,
}

impl Score {
    /// Prints the line of an end, and all that is needed to investigate a failure.
    pub fn add(&mut self, number: u32, kind: Kind, outcome: &Outcome, again: &str) {
        let Outcome { detail, how, bound, threads, problems, typed, account, .. } = outcome;
        let count = self.kinds.entry(kind).or_default();
        *(if problems.is_empty() { &mut count.passed } else { &mut count.failed }) += 1;
        self.bound += u32::from(*bound);
        self.reported += threads.reported;
        self.same = (self.same.0 + threads.same.0, self.same.1 + threads.same.1);
        let reported =
            if threads.reported > 0 { format!("; {} left and reported", threads.reported) } else { String::new() };
        let name = format!("{} {detail}", kind.name());
        let name = name.trim();
        if problems.is_empty() {
            return println!("{number:4} {name} ... ok ({how}{reported})");
        }
        let mut classes: BTreeMap<Class, usize> = BTreeMap::new();
        problems.iter().for_each(|(class, _)| *classes.entry(*class).or_default() += 1);
        let wrong: Vec<String> = classes.iter().map(|(class, count)| format!("{} {count}", class.name())).collect();
        println!("{number:4} {name} ... FAILED: {} ({how}{reported})", wrong.join(", "));
        classes.keys().for_each(|class| *self.classes.entry(*class).or_default() += 1);
        problems.iter().for_each(|(class, text)| println!("       {}: {text}", class.name()));
        println!("       typed: {}", short(typed, TYPED));
        account.iter().for_each(|(what, words)| notify(what, words));
        println!("       again: {again}");
    }

    /// Adds an end that could not be tried.
    pub fn skip(&mut self, number: u32, kind: Kind, why: &str) {
        self.kinds.entry(kind).or_default().skipped += 1;
        println!("{number:4} {} ... SKIPPED: {why}", kind.name());
    }

    /// Adds a failure of the test itself.
    pub fn break_off(&mut self, number: u32, kind: Kind, why: &str) {
        self.not_done += 1;
        self.kinds.entry(kind).or_default().failed += 1;
        println!("{number:4} {} ... FAILED: the test itself: {why}", kind.name());
    }

    /// The summary, and the verdict.
    pub fn close(&self) -> Verdict {
        println!("\n{:18}{:>8}{:>8}{:>8}", "kind of end", "passed", "failed", "skipped");
        for (kind, Count { passed, failed, skipped }) in &self.kinds {
            println!("{:18}{passed:>8}{failed:>8}{skipped:>8}", kind.name());
        }
        let wrong = self.classes.iter().map(|(class, ends)| format!("{} in {ends} ends", class.name()));
        let wrong: Vec<String> = wrong.collect();
        if !wrong.is_empty() {
            println!("wrong: {}", wrong.join(", "));
        }
        let sum = |of: fn(&Count) -> u32| self.kinds.values().map(of).sum::<u32>();
        let (passed, failed) = (sum(|count| count.passed), sum(|count| count.failed));
        println!(
            "{} threads left and reported; threads were bound at {} of {} ends",
            self.reported,
            self.bound,
            passed + failed
        );
        println!(
            "pins to the very CPU that isobar had given: {} kept, {} lifted (only counted)",
            self.same.0, self.same.1
        );
        let idle = self.bound * 2 < passed + failed;
        if idle {
            println!("threads were bound at fewer than half of the ends: this run proves little, so it does not pass");
        }
        println!("{passed} passed, {failed} failed");
        match failed {
            0 if idle => Verdict::ProvesLittle,
            0 if passed > 0 => Verdict::Passed,
            _ => Verdict::Failed,
        }
    }
}

fn notify(what: &str, words: &str) {
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    let more = lines.len().saturating_sub(LINES);
    println!("       {what}{}:", if more > 0 { format!(" ({more} lines before these)") } else { String::new() });
    for line in &lines[more..] {
        println!("         | {}", short(line, COLUMNS));
    }
}

fn short(line: &str, columns: usize) -> String {
    let mut text: String = line.chars().filter(|c| !c.is_control()).take(columns).collect();
    if line.chars().count() > columns {
        text.push_str(" ...");
    }
    text
}

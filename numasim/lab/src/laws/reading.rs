//! Parses what the guest reported: `@look LABEL JSON` from `numasim-counters --json`,
//! `@threads LABEL JSON` from the same with `--threads`, `@line NAME JSON` from a program,
//! `@failed NAME why`, `@mark WORD`, and `@end` when everything is done. Pure: text in, values out.
//! A line that cannot be read is reported as a problem.

use numasim_guest::counters::{Counters, Cpu, Node};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything that a boot reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// looks by label; several under a label that was watched
    pub looks: BTreeMap<String, Vec<Counters>>,
    /// threads by label, of looks that include threads
    pub threads: BTreeMap<String, Vec<Thread>>,
    /// lines of programs, by program
    pub lines: BTreeMap<String, Value>,
    /// looks and lines as they were reported, for comparison
    pub raw: Vec<(String, Value)>,
    /// what went wrong
    pub problems: Vec<String>,
    /// whether the guest's script came to its end
    pub ended: bool,
}

/// A thread in a look. Its counts only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Thread {
    /// Its number.
    pub tid: u64,
    /// Its name.
    pub name: String,
    /// Instructions executed.
    pub instructions: u64,
    /// Those of the kernel among them.
    #[serde(default)]
    pub kernel_instructions: u64,
    /// Accesses that left a last-level cache.
    pub llc_misses: u64,
}

impl Readings {
    /// Parses the output of the guest's script.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines().map(|line| line.trim_end_matches('\r')).filter(|line| !line.is_empty()) {
            let mut words = line.splitn(3, ' ');
            let (kind, name, rest) = (words.next(), words.next().unwrap_or(""), words.next().unwrap_or(""));
            match kind {
                Some("@look") => all.look(name, rest),
                Some("@threads") => {
                    all.look(name, rest);
                    all.look_at_threads(name, rest);
                }
                Some("@line") => all.line(name, rest),
                Some("@failed") => all.problems.push(format!("{name}: {rest}")),
                Some("@mark") => {}
                Some("@end") => all.ended = true,
                _ => all.problems.push(line.to_owned()),
            }
        }
        all
    }

    fn look(&mut self, label: &str, text: &str) {
        let value = serde_json::from_str::<Value>(text);
        match value.and_then(|value| Ok((Counters::deserialize(&value)?, value))) {
            Ok((look, value)) => {
                self.looks.entry(label.to_owned()).or_default().push(look);
                self.raw.push((label.to_owned(), value));
            }
            Err(error) => self.problems.push(format!("look {label}: {text}: {error}")),
        }
    }

    /// Keeps the threads of a look. If the text is not JSON, `look` has reported the problem.
    fn look_at_threads(&mut self, label: &str, text: &str) {
        let value = serde_json::from_str::<Value>(text).ok();
        let threads = value.and_then(|value| Vec::deserialize(value.get("threads")?).ok());
        threads.map(|threads| self.threads.insert(label.to_owned(), threads));
    }

    fn line(&mut self, name: &str, text: &str) {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                self.raw.push((name.to_owned(), value.clone()));
                self.lines.insert(name.to_owned(), value);
            }
            Err(error) => self.problems.push(format!("{name}: `{text}`: {error}")),
        }
    }

    /// The first look under a label.
    ///
    /// # Errors
    /// There is none.
    pub fn at(&self, label: &str) -> Result<&Counters, String> {
        self.looks
            .get(label)
            .and_then(|looks| looks.first())
            .ok_or_else(|| format!("the guest reported no look `{label}`"))
    }

    /// The threads of a look.
    ///
    /// # Errors
    /// There is no such look, or it has no threads.
    pub fn threads(&self, label: &str) -> Result<&[Thread], String> {
        let threads = self.threads.get(label).map(Vec::as_slice).filter(|threads| !threads.is_empty());
        threads.ok_or_else(|| format!("the guest reported no threads under `{label}`: nothing is counted by thread"))
    }

    /// What was counted between the looks `NAME` and `NAME.end`.
    ///
    /// # Errors
    /// A look is missing, or no time passed between the two.
    pub fn between(&self, name: &str) -> Result<Counters, String> {
        let (before, after) = (self.at(name)?, self.at(&super::plan::end(name))?);
        let delta = after.since(before);
        if delta.time_ns == 0 { Err(format!("no time passed between the looks `{name}`")) } else { Ok(delta) }
    }

    /// A figure of a program's line.
    ///
    /// # Errors
    /// The program printed no line, or the line has no such figure.
    pub fn figure(&self, name: &str, key: &str) -> Result<f64, String> {
        let problem = || self.problems.iter().find(|problem| problem.starts_with(name)).cloned();
        let line = self.lines.get(name);
        let line = line.ok_or_else(|| problem().unwrap_or_else(|| format!("`{name}` printed no line")))?;
        line.get(key).and_then(Value::as_f64).ok_or_else(|| format!("the line of `{name}` has no number `{key}`"))
    }
}

/// A CPU of the page.
///
/// # Errors
/// The page has no CPU of this number.
pub fn cpu(look: &Counters, cpu: usize) -> Result<&Cpu, String> {
    look.cpus.get(cpu).ok_or_else(|| format!("the page has no CPU {cpu}"))
}

/// A node of the page.
///
/// # Errors
/// The page has no node of this number.
pub fn node(look: &Counters, node: usize) -> Result<&Node, String> {
    look.nodes.get(node).ok_or_else(|| format!("the page has no node {node}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::test_kit;

    fn look(label: &str, time_ns: u64, llc_misses: u64) -> String {
        let (cpus, nodes) = (vec![Cpu { llc_misses, ..Cpu::default() }], vec![Node { delay_ps: 3, ..Node::default() }]);
        test_kit::look(label, &Counters { time_ns, cpus, nodes, links: Vec::new() })
    }

    #[test]
    fn lines_become_readings_and_differences() {
        let line = "@line a {\"ns_per_load\":12.5}\n";
        let all = Readings::parse(&[&look("a", 100, 10), line, &look("a.end", 1100, 25), "@end\n"].concat());
        assert!(all.ended && all.problems.is_empty(), "{:?}", all.problems);
        let delta = all.between("a").unwrap();
        assert_eq!((delta.time_ns, delta.cpus[0].llc_misses, delta.nodes[0].delay_ps), (1000, 15, 3));
        assert_eq!(all.figure("a", "ns_per_load"), Ok(12.5));
    }

    #[test]
    fn what_is_broken_is_a_problem_and_not_a_figure() {
        let text = "@look a {\"time_ns\":1}\n@line b {\"x\":\n@failed c it ended with status 1: no \
                    memory\nsegfault\n@line d {\"x\":null}";
        let all = Readings::parse(text);
        assert_eq!((all.ended, all.problems.len()), (false, 4), "{:?}", all.problems);
        assert!(all.at("a").is_err() && all.between("a").is_err() && all.figure("d", "x").is_err());
        assert_eq!(all.figure("c", "x"), Err("c: it ended with status 1: no memory".to_owned()));
    }

    #[test]
    fn two_looks_at_the_same_time_are_no_measurement() {
        let all = Readings::parse(&(look("a", 5, 1) + &look("a.end", 5, 1)));
        assert!(all.between("a").is_err());
    }
}

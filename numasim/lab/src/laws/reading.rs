//! What the guest reported: `@look LABEL JSON` from `numasim-counters --json`, `@line NAME JSON`
//! from a program, `@failed NAME why`, `@mark WORD`, and `@end` when all was done. Pure: text in,
//! values out; a line that cannot be read is a problem that is reported.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The page at one moment, as far as it is judged here.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Look {
    /// guest time
    pub time_ns: u64,
    /// by CPU
    pub cpus: Vec<Cpu>,
    /// by node
    pub nodes: Vec<Node>,
    /// directions of links
    pub links: Vec<Link>,
}

/// A CPU.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Cpu {
    /// executed
    pub instructions: u64,
    /// that left the private cache
    pub llc_references: u64,
    /// that left the LLC
    pub llc_misses: u64,
    /// fetched
    pub bytes_read: u64,
    /// written back
    pub bytes_written: u64,
    /// waiting
    pub stall_ps: u64,
    /// not idle
    pub busy_ps: u64,
    /// references that a stream covered
    pub covered: u64,
}

/// A memory controller.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Node {
    /// delivered
    pub bytes_read: u64,
    /// taken
    pub bytes_written: u64,
    /// what a miss waits now
    pub delay_ps: u64,
}

/// A direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Link {
    /// whence
    pub from: u64,
    /// whither
    pub to: u64,
    /// carried
    pub bytes: u64,
}

/// All that a boot reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// by label; several where it was watched
    pub looks: BTreeMap<String, Vec<Look>>,
    /// by program
    pub lines: BTreeMap<String, Value>,
    /// looks as they were reported, for comparison
    pub raw: Vec<(String, Value)>,
    /// what went wrong
    pub problems: Vec<String>,
    /// whether the guest came to its end
    pub ended: bool,
}

impl Readings {
    /// Takes the output of the guest's script apart.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines().map(|line| line.trim_end_matches('\r')).filter(|line| !line.is_empty()) {
            let mut words = line.splitn(3, ' ');
            let (kind, name, rest) = (words.next(), words.next().unwrap_or(""), words.next().unwrap_or(""));
            match kind {
                Some("@look") => all.look(name, rest),
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
        let look = value
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|value| serde_json::from_value::<Look>(value.clone()).map_err(|error| error.to_string()));
        match (value, look) {
            (Ok(value), Ok(look)) => {
                self.looks.entry(label.to_owned()).or_default().push(look);
                self.raw.push((label.to_owned(), value));
            }
            (_, look) => {
                let why = look.err().unwrap_or_default();
                self.problems.push(format!("look {label}: {text}: {why}"));
            }
        }
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
    pub fn at(&self, label: &str) -> Result<&Look, String> {
        self.looks
            .get(label)
            .and_then(|looks| looks.first())
            .ok_or_else(|| format!("the guest reported no look `{label}`"))
    }

    /// What was counted between the looks `NAME` and `NAME.end`.
    ///
    /// # Errors
    /// One is missing, or no time passed.
    pub fn between(&self, name: &str) -> Result<Look, String> {
        let (before, after) = (self.at(name)?, self.at(&super::plan::end(name))?);
        let delta = after.since(before);
        if delta.time_ns == 0 { Err(format!("no time passed between the looks `{name}`")) } else { Ok(delta) }
    }

    /// A figure of a program's line.
    ///
    /// # Errors
    /// No line, or no such figure in it.
    pub fn figure(&self, name: &str, key: &str) -> Result<f64, String> {
        let problem = || self.problems.iter().find(|problem| problem.starts_with(name)).cloned();
        let line = self.lines.get(name);
        let line = line.ok_or_else(|| problem().unwrap_or_else(|| format!("`{name}` printed no line")))?;
        line.get(key).and_then(Value::as_f64).ok_or_else(|| format!("the line of `{name}` has no number `{key}`"))
    }
}

impl Look {
    /// What was counted since; levels stay.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let cpu = |(now, old): (&Cpu, &Cpu)| Cpu {
            instructions: now.instructions.saturating_sub(old.instructions),
            llc_references: now.llc_references.saturating_sub(old.llc_references),
            llc_misses: now.llc_misses.saturating_sub(old.llc_misses),
            bytes_read: now.bytes_read.saturating_sub(old.bytes_read),
            bytes_written: now.bytes_written.saturating_sub(old.bytes_written),
            stall_ps: now.stall_ps.saturating_sub(old.stall_ps),
            busy_ps: now.busy_ps.saturating_sub(old.busy_ps),
            covered: now.covered.saturating_sub(old.covered),
        };
        let node = |(now, old): (&Node, &Node)| Node {
            bytes_read: now.bytes_read.saturating_sub(old.bytes_read),
            bytes_written: now.bytes_written.saturating_sub(old.bytes_written),
            delay_ps: now.delay_ps,
        };
        let link = |(now, old): (&Link, &Link)| Link { bytes: now.bytes.saturating_sub(old.bytes), ..now.clone() };
        Self {
            time_ns: self.time_ns.saturating_sub(before.time_ns),
            cpus: self.cpus.iter().zip(&before.cpus).map(cpu).collect(),
            nodes: self.nodes.iter().zip(&before.nodes).map(node).collect(),
            links: self.links.iter().zip(&before.links).map(link).collect(),
        }
    }

    /// A CPU.
    ///
    /// # Errors
    /// The page had none of this number.
    pub fn cpu(&self, cpu: usize) -> Result<&Cpu, String> {
        self.cpus.get(cpu).ok_or_else(|| format!("the page has no CPU {cpu}"))
    }

    /// A node.
    ///
    /// # Errors
    /// The page had none of this number.
    pub fn node(&self, node: usize) -> Result<&Node, String> {
        self.nodes.get(node).ok_or_else(|| format!("the page has no node {node}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(time: u64, misses: u64) -> String {
        format!(
            r#"{{"time_ns":{time},"modelling":true,"cpus":[{{"cpu":0,"instructions":5,"llc_references":9,"llc_misses":{misses},"bytes_read":64,
"bytes_written":0,"stall_ps":7,"busy_ps":8,"covered":0}}],"nodes":[{{"node":0,"bytes_read":1,"bytes_written":2,"delay_ps":3}}],"links":[]}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn lines_become_readings_and_differences() {
        let text = format!(
            "@look a {}\n@line a {{\"ns_per_load\":12.5}}\n@look a.end {}\n@end\n",
            look(100, 10),
            look(1100, 25)
        );
        let all = Readings::parse(&text);
        assert!(all.ended && all.problems.is_empty(), "{:?}", all.problems);
        let delta = all.between("a").unwrap();
        assert_eq!((delta.time_ns, delta.cpus[0].llc_misses, delta.nodes[0].delay_ps), (1000, 15, 3));
        assert_eq!(all.figure("a", "ns_per_load"), Ok(12.5));
    }

    #[test]
    fn what_is_broken_is_a_problem_and_not_a_figure() {
        let text = "@look a {\"time_ns\":1}\n@line b {\"x\":\n@failed c it ended with status 1: no memory\nsegfault\n@line d {\"x\":null}";
        let all = Readings::parse(text);
        assert_eq!((all.ended, all.problems.len()), (false, 4), "{:?}", all.problems);
        assert!(all.at("a").is_err() && all.between("a").is_err() && all.figure("d", "x").is_err());
        assert_eq!(all.figure("c", "x"), Err("c: it ended with status 1: no memory".to_owned()));
    }

    #[test]
    fn two_looks_at_the_same_time_are_no_measurement() {
        let all = Readings::parse(&format!("@look a {0}\n@look a.end {0}\n", look(5, 1)));
        assert!(all.between("a").is_err());
    }
}

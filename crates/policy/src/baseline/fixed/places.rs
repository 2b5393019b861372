//! The entries of `fixed.threads` and `fixed.pages`. This file knows how the lists are written and
//! which entry applies to a process. Whether a CPU or a node exists is checked elsewhere.

use crate::kit::pairs::{means, pairs, wrong};
use isobar_model::text::one_line;
use isobar_model::{CpuSet, NodeId, Process};

/// One entry of `fixed.threads`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPlace {
    /// The process: its name or pid.
    pub name: String,
    /// The thread, counted by ascending tid from 0; `None`: every thread.
    pub index: Option<usize>,
    /// The CPUs that the thread may run on; not empty.
    pub cpus: CpuSet,
}

/// One entry of `fixed.pages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePlace {
    /// The process: its name or pid.
    pub name: String,
    /// The node that the pages leave; `None`: every other node.
    pub from: Option<NodeId>,
    /// The node that they go to.
    pub to: NodeId,
}

const THREADS_EXAMPLE: &str = "alpha/0=5 (thread 0 of alpha on cpu 5) or beta=0-3,8 (beta on any of these)";
const PAGES_EXAMPLE: &str = "alpha=2 (all pages of alpha on node 2) or alpha=0>2 (those of node 0)";

impl ThreadPlace {
    /// Reads a list.
    ///
    /// # Errors
    /// Which entry is wrong, what is wrong with it, and what would be right.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let mut places: Vec<Self> = Vec::new();
        for (key, value) in pairs(text, THREADS_EXAMPLE)? {
            let cpus = value.parse().ok().filter(|cpus: &CpuSet| !cpus.is_empty());
            let expected = "a CPU number, or a list of them such as 0-3,8, after the equals sign";
            let cpus = cpus.ok_or_else(|| wrong(&format!("{key}={value}"), expected))?;
            let (name, index) = indexed(key);
            let place = Self { name: one_line(name), index, cpus };
            if places.iter().any(|known| (&known.name, known.index) == (&place.name, place.index)) {
                return Err(wrong(&format!("{key}={value}"), &format!("one place for {key}, which has one already")));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// The entry that applies to a thread of a process. An entry with an index takes precedence
    /// over one without.
    pub fn of<'a>(list: &'a [Self], process: &Process, index: usize) -> Option<&'a Self> {
        let meets = |wanted| move |place: &&Self| place.index == wanted && means(&place.name, process);
        list.iter().find(meets(Some(index))).or_else(|| list.iter().find(meets(None)))
    }

    /// The entry's left side, as written.
    pub fn key(&self) -> String {
        self.index.map_or_else(|| self.name.clone(), |index| format!("{}/{index}", self.name))
    }
}

impl PagePlace {
    /// Reads a list.
    ///
    /// # Errors
    /// Which entry is wrong, what is wrong with it, and what would be right. Entries that would
    /// send pages round in a circle are refused as well.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let mut places: Vec<Self> = Vec::new();
        for (name, value) in pairs(text, PAGES_EXAMPLE)? {
            let entry = format!("{name}={value}");
            let nodes = match value.split_once('>') {
                Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| (Some(NodeId(from)), NodeId(to))),
                None => number(value).map(|to| (None, NodeId(to))),
            };
            let (from, to) = nodes.ok_or_else(|| wrong(&entry, "node numbers, as 2 or 0>2, after the equals sign"))?;
            let place = Self { name: one_line(name), from, to };
            place.fits(&places).map_err(|expected| wrong(&entry, &expected))?;
            places.push(place);
        }
        Ok(places)
    }

    /// The entry that applies to the pages of a process on a node.
    pub fn of<'a>(list: &'a [Self], process: &Process, from: NodeId) -> Option<&'a Self> {
        list.iter().find(|place| place.from.is_none_or(|wanted| wanted == from) && means(&place.name, process))
    }

    /// Pages that leave a node must not be sent to it by another entry, or they would move for
    /// ever.
    fn fits(&self, others: &[Self]) -> Result<(), String> {
        if self.from == Some(self.to) {
            return Err("two different nodes".to_owned());
        }
        for other in others.iter().filter(|other| other.name == self.name) {
            let (Some(mine), Some(theirs)) = (self.from, other.from) else {
                return Err(format!("{} once, or once for each node that its pages leave", self.name));
            };
            if mine == theirs {
                return Err(format!("one target for the pages of {} on node {mine}", self.name));
            }
            if mine == other.to || theirs == self.to {
                let node = if mine == other.to { mine } else { theirs };
                return Err(format!("node {node} as source or as target of the pages of {}, not both", self.name));
            }
        }
        Ok(())
    }
}

/// `alpha/0` is thread 0 of alpha; `kworker/0:1` is a name.
fn indexed(key: &str) -> (&str, Option<usize>) {
    let split = key.rsplit_once('/').filter(|(name, _)| !name.is_empty());
    match split.and_then(|(name, index)| Some((name, usize::try_from(number(index)?).ok()?))) {
        Some((name, index)) => (name, Some(index)),
        None => (key, None),
    }
}

/// Reads a number of digits only: no sign, no space.
pub(super) fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn threads_are_named_with_or_without_an_index() {
        let list = ThreadPlace::list("alpha/0=5 beta=0-3,8 kworker/0:1=2 /9=1").unwrap();
        let read = list.iter().map(|place| (place.name.as_str(), place.index, place.cpus.to_string()));
        let (alpha, beta) = (("alpha", Some(0), "5".to_owned()), ("beta", None, "0-3,8".to_owned()));
        let others = [("kworker/0:1", None, "2".to_owned()), ("/9", None, "1".to_owned())];
        assert_eq!(read.collect::<Vec<_>>(), [vec![alpha, beta], others.to_vec()].concat());
    }

    #[test]
    fn pages_are_named_with_or_without_the_node_that_they_leave() {
        let list = PagePlace::list("alpha=2 beta=0>2 beta=1>3").unwrap();
        let read: Vec<_> = list.iter().map(|place| (place.from.map(|node| node.0), place.to.0)).collect();
        assert_eq!(read, [(None, 2), (Some(0), 2), (Some(1), 3)]);
    }

    #[test]
    fn what_cannot_be_is_told_with_what_would_be_right() {
        let threads = |text| ThreadPlace::list(text).unwrap_err();
        let starts = format!("`alpha` is impossible: expected NAME=VALUE, such as {THREADS_EXAMPLE}");
        assert_eq!(threads("alpha"), starts);
        let expected = "a CPU number, or a list of them such as 0-3,8, after the equals sign";
        assert_eq!(threads("a=+5"), format!("`a=+5` is impossible: expected {expected}"));
        assert_eq!(threads("a=5-3"), format!("`a=5-3` is impossible: expected {expected}"));
        assert_eq!(threads("a/0=1 a/0=2"), "`a/0=2` is impossible: expected one place for a/0, which has one already");
        let pages = |text| PagePlace::list(text).unwrap_err();
        assert_eq!(pages("a=0>"), "`a=0>` is impossible: expected node numbers, as 2 or 0>2, after the equals sign");
        assert_eq!(pages("a=1>1"), "`a=1>1` is impossible: expected two different nodes");
        assert_eq!(
            pages("a=0>1 a=1>2"),
            "`a=1>2` is impossible: expected node 1 as source or as target of the pages of a, not both"
        );
        assert_eq!(
            pages("a=0>1 a=2"),
            "`a=2` is impossible: expected a once, or once for each node that its pages leave"
        );
        assert_eq!(pages("a=0>1 a=0>2"), "`a=0>2` is impossible: expected one target for the pages of a on node 0");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_in_one_line(text in any::<String>(), near in "[ab/=>0-9 ]{0,24}") {
            for text in [&text, &near] {
                for message in [ThreadPlace::list(text).err(), PagePlace::list(text).err()].into_iter().flatten() {
                    prop_assert!(!message.contains(char::is_control));
                }
            }
        }

        #[test]
        fn pages_never_go_in_circles(entries in prop::collection::vec((0u32..4, 0u32..4), 0..6)) {
            let text: Vec<_> = entries.iter().map(|(from, to)| format!("a={from}>{to}")).collect();
            if let Ok(list) = PagePlace::list(&text.join(" ")) {
                for place in &list {
                    prop_assert!(list.iter().all(|other| other.from != Some(place.to)));
                }
            }
        }
    }
}

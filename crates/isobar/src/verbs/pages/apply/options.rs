//! Parsers for the values of the options.

use crate::failure::bad_input;
use crate::verbs::options::within;
use isobar_linux::kernel::parse::node_list;
use isobar_model::{NodeId, Pid};
use isobar_pages::Mapping;

/// A list of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes(pub Vec<NodeId>);

/// The nodes on which threads count as running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadNodes {
    /// Neighbouring threads together, with equally many on each node.
    Compact,
    /// For each thread, the position of its node among those used.
    List(Vec<usize>),
}

/// Parses a process id.
pub fn pid(word: &str) -> anyhow::Result<Pid> {
    let pid = word.parse().ok().filter(|pid| *pid > 0);
    pid.map(Pid).ok_or_else(|| bad_input(format!("`{word}` is not a process id: expected a number such as 4711")))
}

/// Finds a mapping by its name.
pub fn mapping(name: &str) -> Result<Mapping, String> {
    let names = || Mapping::ALL.map(|mapping| mapping.name()).join(", ");
    Mapping::ALL
        .into_iter()
        .find(|mapping| mapping.name() == name)
        .ok_or_else(|| format!("expected one of {}", names()))
}

/// Parses a number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    within(text, 0.0..=1.0, "a number from 0 to 1, such as 0.9")
}

/// Parses a list of nodes, in ascending order.
pub fn nodes(text: &str) -> Result<Nodes, String> {
    let list = node_list(text).filter(|list| !list.is_empty());
    list.map(Nodes).ok_or_else(|| "expected nodes such as 0-3 or 0,2".to_owned())
}

/// Parses `compact`, or a node for each thread.
pub fn thread_nodes(text: &str) -> Result<ThreadNodes, String> {
    if text == "compact" {
        return Ok(ThreadNodes::Compact);
    }
    let list: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
    list.map(ThreadNodes::List).map_err(|_| "expected `compact` or a node for each thread, such as 0,0,1,1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_or_refused_with_what_would_be_right() {
        assert_eq!(pid("7").unwrap(), Pid(7));
        assert!(pid("0").unwrap_err().to_string().contains("`0` is not a process id"));
        assert_eq!(mapping("locality"), Ok(Mapping::Locality));
        assert!(mapping("local").unwrap_err().contains("first-touch, random"));
        assert_eq!(nodes("0-1,4"), Ok(Nodes(vec![NodeId(0), NodeId(1), NodeId(4)])));
        assert!(nodes("").is_err() && nodes("a").is_err());
        assert_eq!(thread_nodes("compact"), Ok(ThreadNodes::Compact));
        assert_eq!(thread_nodes("1,0,0"), Ok(ThreadNodes::List(vec![1, 0, 0])));
        assert!(thread_nodes("1,,0").unwrap_err().contains("compact"));
        assert!(share("1.5").is_err() && share("0.95").is_ok());
    }
}

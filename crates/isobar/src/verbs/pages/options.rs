//! Options for where threads run and how large pages are. `pages` and `report` share them.

use crate::failure::bad_input;
use crate::machines::linux;
use isobar_pages::Homes;

/// The largest page size that a report can be made for: 1 GiB.
const LARGEST_PAGE: u64 = 1 << 30;

/// The nodes of threads, and the threshold of exclusivity.
#[derive(Debug, clap::Args)]
pub struct Placed {
    /// NUMA nodes to place pages on [default: as many as this machine has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    nodes: Option<u16>,
    /// The node of each thread: `compact` (neighbouring threads together, equally many on each
    /// node), or a list such as 0,0,1,1
    #[arg(long, value_name = "compact|LIST", default_value = "compact")]
    threads_to_nodes: String,
    /// The share of accesses from one node above which a page is exclusive, 0 to 1; `mixed` places
    /// such a page on that node
    #[arg(long, value_name = "PART", default_value_t = isobar_pages::MIN_EXCLUSIVITY, value_parser = part)]
    pub min_excl: f64,
    /// Bytes of a page, such as 4096, 64K or 2M, from the page size of the file up to 1G [default:
    /// the page size of the file]
    #[arg(long, value_name = "BYTES", value_parser = page_bytes)]
    pub page_size: Option<u64>,
}

impl Placed {
    /// The first of these options that was typed, for inputs that have no use for them.
    pub fn typed(&self) -> Option<&'static str> {
        let options = [
            (self.nodes.is_some(), "--nodes"),
            (self.threads_to_nodes != "compact", "--threads-to-nodes"),
            (self.min_excl.to_bits() != isobar_pages::MIN_EXCLUSIVITY.to_bits(), "--min-excl"),
            (self.page_size.is_some(), "--page-size"),
        ];
        options.into_iter().find(|(typed, _)| *typed).map(|(_, option)| option)
    }

    /// The node of each of `threads` threads.
    ///
    /// # Errors
    /// Bad input: a different number of threads, or a node that does not exist.
    pub fn homes(&self, threads: usize) -> anyhow::Result<Homes> {
        let nodes = match self.nodes {
            Some(nodes) => usize::from(nodes),
            None => linux::read_topology(None)?.nodes().len().max(1),
        };
        if self.threads_to_nodes == "compact" {
            return Homes::compact(nodes, threads).map_err(bad_input);
        }
        let typed = &self.threads_to_nodes;
        let wrong = |why: &dyn std::fmt::Display| bad_input(format!("--threads-to-nodes {typed}: {why}"));
        let number = |word: &str| word.trim().parse::<usize>();
        let of_thread: Vec<usize> = typed
            .split(',')
            .map(number)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong(&"expected `compact`, or the node of each thread from T0 on, such as 0,0,1,1"))?;
        if of_thread.len() != threads {
            let found = of_thread.len();
            return Err(wrong(&format!("{found} threads have a node, and the file has {threads}")));
        }
        Homes::new(nodes, &of_thread).map_err(|why| wrong(&why))
    }
}

fn part(text: &str) -> Result<f64, String> {
    crate::verbs::options::within(text, 0.0..=1.0, "a part from 0 to 1, such as 0.9")
}

/// Parses a power of two with an optional suffix, in steps of 1024.
fn page_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a power of two up to 1G, such as 4096, 64K or 2M".to_owned();
    let upper = text.to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let digits = upper.trim_end_matches(['K', 'M', 'G']);
    let factor: u64 = match &upper[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(wrong()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.filter(|bytes| bytes.is_power_of_two() && *bytes <= LARGEST_PAGE).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(nodes: u16, list: &str) -> Placed {
        Placed { nodes: Some(nodes), threads_to_nodes: list.into(), min_excl: 0.9, page_size: None }
    }

    #[test]
    fn sizes_are_powers_of_two_up_to_a_gibibyte() {
        assert_eq!(page_bytes("4096"), Ok(4096));
        assert_eq!(page_bytes("64k"), Ok(65_536));
        assert_eq!(page_bytes("2MiB"), Ok(2 << 20));
        assert_eq!(page_bytes("1G"), Ok(1 << 30));
        for wrong in ["", "0", "3000", "2G", "1T", "-4", "4KK", "99999999999G"] {
            assert!(page_bytes(wrong).unwrap_err().contains("power of two"), "{wrong}");
        }
    }

    #[test]
    fn threads_go_where_the_list_says() {
        assert_eq!(placed(2, "compact").homes(4).unwrap().of_thread(), [0, 0, 1, 1]);
        assert_eq!(placed(2, "1, 0").homes(2).unwrap().of_thread(), [1, 0]);
        let wrong = |list, threads| placed(2, list).homes(threads).unwrap_err().to_string();
        assert!(wrong("0,x", 2).contains("--threads-to-nodes 0,x: expected `compact`"));
        assert_eq!(wrong("0,1", 3), "--threads-to-nodes 0,1: 2 threads have a node, and the file has 3");
        assert_eq!(
            wrong("0,2", 2),
            "--threads-to-nodes 0,2: thread 1 is on node 2, but there are 2 nodes, numbered from 0"
        );
    }
}

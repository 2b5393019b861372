//! One decision, and the kernel's memory policy that carries it out.

/// Number of nodes that a decision can name: those that one word of the kernel's node mask holds.
pub const MAX_NODES: usize = 64;

/// Where the new pages of a process go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Wherever they would go without isobar.
    #[default]
    Free,
    /// All on this node, while it has free memory; below [`MAX_NODES`].
    Node(u8),
    /// Spread by these weights, one for each node; at least one is not 0.
    Spread([u8; MAX_NODES]),
}

/// A memory policy: a mode of `linux/mempolicy.h`, and the nodes as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// `MPOL_DEFAULT` (0), `MPOL_PREFERRED` (1), `MPOL_BIND` (2), `MPOL_INTERLEAVE` (3) or
    /// `MPOL_WEIGHTED_INTERLEAVE` (6).
    pub mode: i32,
    /// The nodes.
    pub nodes: u64,
}

impl Mode {
    /// Pages from these nodes only.
    #[must_use]
    pub const fn bind(nodes: u64) -> Self {
        Self { mode: 2, nodes }
    }

    /// No policy of its own.
    pub const DEFAULT: Self = Self { mode: 0, nodes: 0 };

    /// The nodes in turn, as often as the machine's weights say (Linux 6.9 and later).
    #[must_use]
    pub const fn weighted(nodes: u64) -> Self {
        Self { mode: 6, nodes }
    }

    /// The nodes in turn.
    #[must_use]
    pub const fn interleave(nodes: u64) -> Self {
        Self { mode: 3, nodes }
    }
}

impl Decision {
    /// The memory policy of one process that comes closest. The kernel keeps weights only for the
    /// whole machine, so a spread interleaves the nodes that have at least half of the largest
    /// weight. A single such node is preferred.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match self {
            Self::Free => Mode::DEFAULT,
            Self::Node(node) => Mode { mode: 1, nodes: 1 << (node & 63) },
            Self::Spread(weights) => {
                let most = weights.iter().copied().max().unwrap_or(0);
                let heavy = |weight: u8| weight > 0 && u16::from(weight) * 2 >= u16::from(most);
                let bits = (0..MAX_NODES).filter(|node| heavy(weights[*node]));
                let nodes = bits.fold(0_u64, |nodes, node| nodes | 1 << node);
                if nodes.count_ones() == 1 { Mode { mode: 1, nodes } } else { Mode::interleave(nodes) }
            }
        }
    }

    /// The weights that come closest, for the nodes whose bit is set in `online`. The machine's
    /// weights are 1 to 255, so a node that should get nothing gets 1 page of 256.
    #[must_use]
    pub fn weights(&self, online: u64) -> Option<[u8; MAX_NODES]> {
        let wanted = match self {
            Self::Free => return None,
            Self::Node(node) => {
                let mut weights = [0; MAX_NODES];
                weights[usize::from(node & 63)] = u8::MAX;
                weights
            }
            Self::Spread(weights) => *weights,
        };
        let is_online = |node: usize| online >> node & 1 == 1;
        let mut weights = [0; MAX_NODES];
        for node in (0..MAX_NODES).filter(|node| is_online(*node)) {
            weights[node] = wanted[node].max(1);
        }
        Some(weights)
    }

    /// Parses `free`, `node 1` or `weights 0:3,2:1`.
    ///
    /// # Errors
    /// A description of the valid forms.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const RIGHT: &str = "expected `free`, `node N` or `weights N:W,N:W` with nodes 0 to 63 and weights 1 to 255";
        let node = |text: &str| text.parse::<u8>().ok().filter(|node| usize::from(*node) < MAX_NODES).ok_or(RIGHT);
        let mut words = text.split_whitespace();
        let decision = match (words.next(), words.next()) {
            (Some("free"), None) => Self::Free,
            (Some("node"), Some(text)) => Self::Node(node(text)?),
            (Some("weights"), Some(list)) => {
                let mut weights = [0; MAX_NODES];
                for item in list.split(',') {
                    let (of, weight) = item.split_once(':').ok_or(RIGHT)?;
                    let weight = weight.parse().ok().filter(|weight| *weight > 0).ok_or(RIGHT)?;
                    let place = &mut weights[usize::from(node(of)?)];
                    if *place > 0 {
                        return Err("a node is named twice");
                    }
                    *place = weight;
                }
                Self::Spread(weights)
            }
            _ => return Err(RIGHT),
        };
        if words.next().is_some() { Err(RIGHT) } else { Ok(decision) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_becomes_the_closest_policy_of_the_kernel() {
        assert_eq!(Decision::Free.mode(), Mode::DEFAULT);
        assert_eq!(Decision::Node(2).mode(), Mode { mode: 1, nodes: 0b100 });
        // 3 : 2 : 1 : 0. Half of 3 is 1.5, so nodes 0 and 1 take turns.
        let spread = Decision::parse("weights 0:3,1:2,2:1").unwrap();
        assert_eq!(spread.mode(), Mode { mode: 3, nodes: 0b11 });
        assert_eq!(Decision::parse("weights 5:3,1:1").unwrap().mode(), Mode { mode: 1, nodes: 1 << 5 });
    }

    #[test]
    fn weights_are_of_nodes_that_are_there_and_never_0() {
        let of = |decision: Decision| decision.weights(0b1011).map(|weights| weights[..5].to_vec());
        assert_eq!(of(Decision::Node(1)), Some(vec![1, 255, 0, 1, 0]));
        assert_eq!(of(Decision::parse("weights 0:3,4:9").unwrap()), Some(vec![3, 1, 0, 1, 0]));
        assert_eq!(of(Decision::Free), None);
    }

    #[test]
    fn what_is_no_decision_is_refused() {
        assert_eq!(Decision::parse(" node  3\n"), Ok(Decision::Node(3)));
        for wrong in
            ["", "node", "node 64", "node -1", "node 1 2", "weights 1", "weights 1:0", "weights 1:256", "free x"]
        {
            assert!(Decision::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Decision::parse("weights 1:2,1:3"), Err("a node is named twice"));
    }
}

//! Why a page usage, or a map of threads to nodes, is invalid.

/// Why a usage, or a map of threads to nodes, is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagesError {
    /// A row does not have one column per thread.
    #[error("page {page:#x} has {found} counts, but there are {threads} threads")]
    Columns {
        /// its number
        page: u64,
        /// counts in the row
        found: usize,
        /// threads of the usage
        threads: usize,
    },
    /// The thread that is given as the first to touch a page does not exist.
    #[error("page {page:#x} was first touched by thread {thread}, but there are {threads} threads, numbered from 0")]
    FirstTouch {
        /// its number
        page: u64,
        /// the thread
        thread: u32,
        /// threads of the usage
        threads: usize,
    },
    /// No threads, or no nodes, or more nodes than are supported.
    #[error("{0}: expected a number from 1 to 65535")]
    Count(&'static str),
    /// A thread has no node, or one that does not exist.
    #[error("thread {thread} is on node {node}, but there are {nodes} nodes, numbered from 0")]
    Node {
        /// the thread
        thread: usize,
        /// its node
        node: usize,
        /// number of nodes
        nodes: usize,
    },
    /// The number of threads that have a node is not the number of threads of the usage.
    #[error("{found} threads have a node, but the usage has {threads} threads")]
    Threads {
        /// threads that have a node
        found: usize,
        /// threads of the usage
        threads: usize,
    },
    /// Page sizes that do not divide each other.
    #[error(
        "a page of {to} bytes is not a whole number of pages of {from} bytes; expected a power of two of at least \
         {from}"
    )]
    PageSize {
        /// the present size
        from: u64,
        /// the size that was asked for
        to: u64,
    },
}

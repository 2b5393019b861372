//! What advice is wanted for.

use super::numad::Wanted;
use isobar_model::Pid;

/// What advice is wanted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdviceTarget {
    /// all busy programs
    All,
    /// a process
    Process(Pid),
    /// a command that was started as this process, and how it was typed
    Command(Pid, String),
    /// nodes with free CPUs and memory
    Room(Wanted),
}

//! The kinds of ends, and the order in which they are tried.

use crate::random::{Random, below, shuffle};
use clap::ValueEnum;

/// A way in which a run of `manage` comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    /// One signal
    Single,
    /// The same signal twice at once
    Double,
    /// 2 to 20 mixed signals in at most 50 ms
    Burst,
    /// kill -9, then `isobar restore`
    Kill,
    /// SIGTERM, and kill -9 while it puts back; then `isobar restore`
    KillPutback,
    /// Its terminal is closed
    Terminal,
    /// `timeout`, which signals the process and then its group
    Timeout,
    /// The process and its group are signalled
    Group,
    /// The file system of the state file fills up
    DiskFull,
    /// It may no longer write to files (RLIMIT_FSIZE)
    DiskLimit,
    /// Its output goes to a full disk
    OutputFull,
    /// Its output goes into a pipe that is not read
    Stalled,
    /// The reader of its output is stopped
    StoppedReader,
    /// Its terminal is stopped (Ctrl-S)
    StoppedTerminal,
    /// The reader of its output leaves
    ReaderLeft,
    /// `--for`
    For,
}

/// Each kind as many times as it occurs before the deck starts again.
const DECK: &[(Kind, usize)] = &[
    (Kind::Single, 5),
    (Kind::Double, 3),
    (Kind::Burst, 3),
    (Kind::Kill, 2),
    (Kind::KillPutback, 2),
    (Kind::Terminal, 2),
    (Kind::Timeout, 3),
    (Kind::Group, 1),
    (Kind::DiskFull, 1),
    (Kind::DiskLimit, 1),
    (Kind::OutputFull, 1),
    (Kind::Stalled, 2),
    (Kind::StoppedReader, 1),
    (Kind::StoppedTerminal, 1),
    (Kind::ReaderLeft, 1),
    (Kind::For, 1),
];

impl Kind {
    /// Its name, as typed and printed.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether isobar gets no chance to put things back itself.
    pub fn kills(self) -> bool {
        matches!(self, Self::Kill | Self::KillPutback)
    }

    /// Whether isobar ends without a signal.
    pub fn ends_unasked(self) -> bool {
        matches!(self, Self::Timeout | Self::For)
    }

    /// Whether it runs on a terminal.
    pub fn on_terminal(self) -> bool {
        matches!(self, Self::Terminal | Self::StoppedTerminal)
    }
}

/// Deals kinds: each once, then the rest of the deck, then the next deck.
pub struct Deck {
    only: Vec<Kind>,
    left: Vec<Kind>,
}

impl Deck {
    /// A deck of these kinds; if the list is empty, of all kinds.
    pub fn new(only: &[Kind]) -> Self {
        Self { only: only.to_vec(), left: Vec::new() }
    }

    /// The next kind.
    pub fn deal(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            self.left = self.shuffled(random);
        }
        self.left.pop().unwrap_or(Kind::Single)
    }

    /// In reverse order, because kinds are dealt from the end.
    fn shuffled(&self, random: &mut Random) -> Vec<Kind> {
        let wanted = |kind: &Kind| self.only.is_empty() || self.only.contains(kind);
        let deck = || DECK.iter().filter(|(kind, _)| wanted(kind));
        let mut once: Vec<Kind> = deck().map(|(kind, _)| *kind).collect();
        let mut rest: Vec<Kind> = deck().flat_map(|(kind, count)| vec![*kind; count - 1]).collect();
        shuffle(&mut once, random);
        shuffle(&mut rest, random);
        rest.extend(once);
        rest
    }
}

/// The signals that ask or force a process to end, apart from SIGKILL, by name.
pub const SIGNALS: &[(&str, rustix::process::Signal)] = {
    use rustix::process::Signal;
    &[
        ("TERM", Signal::TERM),
        ("INT", Signal::INT),
        ("HUP", Signal::HUP),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("ALRM", Signal::ALARM),
        ("XCPU", Signal::XCPU),
        ("XFSZ", Signal::XFSZ),
        ("ABRT", Signal::ABORT),
        ("PIPE", Signal::PIPE),
    ]
};

/// One of the first `first` signals of the list.
pub fn signal(random: &mut Random, first: usize) -> (&'static str, rustix::process::Signal) {
    SIGNALS[below(random, first.min(SIGNALS.len()))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_is_dealt_once_before_any_comes_again() {
        let (mut deck, mut random) = (Deck::new(&[]), stream(7, 0));
        let first: BTreeSet<Kind> = (0..DECK.len()).map(|_| deck.deal(&mut random)).collect();
        assert_eq!(first.len(), Kind::value_variants().len());
    }

    #[test]
    fn the_same_seed_deals_the_same() {
        let deal = |seed| {
            let (mut deck, mut random) = (Deck::new(&[]), stream(seed, 0));
            (0..60).map(|_| deck.deal(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(deal(3), deal(3));
        assert_ne!(deal(3), deal(4));
    }

    #[test]
    fn only_what_is_wanted_is_dealt() {
        let (mut deck, mut random) = (Deck::new(&[Kind::Kill]), stream(7, 0));
        assert!((0..9).all(|_| deck.deal(&mut random) == Kind::Kill));
    }
}

//! Sets of programs as bits, and the order in which searches take them: the order of their
//! ascending lists, which is the order of [`isobar_partition::Solution`].

/// A set of at most 64 programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Set(pub u64);

impl Set {
    /// Programs 0 to `count - 1`.
    pub const fn all(count: usize) -> Self {
        if count >= 64 { Self(u64::MAX) } else { Self((1 << count) - 1) }
    }

    pub const fn one(program: usize) -> Self {
        Self(1 << program)
    }

    pub fn of(programs: &[usize]) -> Self {
        programs.iter().fold(Self(0), |set, program| set.with(Self::one(*program)))
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The lowest program; 64 if the set is empty.
    pub const fn first(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// The highest program; the set must not be empty.
    pub const fn last(self) -> usize {
        63 - self.0.leading_zeros() as usize
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The programs of the set above `program`.
    pub const fn above(self, program: usize) -> Self {
        if program >= 63 { Self(0) } else { Self(self.0 & (u64::MAX << (program + 1))) }
    }

    /// The programs, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self;
        std::iter::from_fn(move || {
            (!left.is_empty()).then(|| {
                let first = left.first();
                left = Self(left.0 & (left.0 - 1));
                first
            })
        })
    }

    pub fn list(self) -> Vec<usize> {
        self.iter().collect()
    }

    /// The position of the set in a table whose length is a power of two; other sets may have the
    /// same.
    pub fn slot(self, length: usize) -> usize {
        let spread = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        usize::try_from(spread).unwrap_or(0) & (length - 1)
    }

    /// All subsets of at most `most` programs that contain the first one, in the order of their
    /// lists: `[0], [0, 1], [0, 1, 2], [0, 2]`.
    pub fn firsts(self, most: usize) -> Firsts {
        let next = (!self.is_empty() && most > 0).then(|| Self::one(self.first()));
        Firsts { of: self, most, next }
    }
}

/// See [`Set::firsts`].
pub(crate) struct Firsts {
    of: Set,
    most: usize,
    next: Option<Set>,
}

impl Iterator for Firsts {
    type Item = Set;

    fn next(&mut self) -> Option<Set> {
        let now = self.next?;
        self.next = self.after(now);
        Some(now)
    }
}

impl Firsts {
    fn after(&self, now: Set) -> Option<Set> {
        let longer = self.of.above(now.last());
        if now.len() < self.most && !longer.is_empty() {
            return Some(now.with(Set::one(longer.first())));
        }
        let mut rest = now;
        while rest.len() > 1 {
            let last = rest.last();
            rest = rest.without(Set::one(last));
            let later = self.of.above(last);
            if !later.is_empty() {
                return Some(rest.with(Set::one(later.first())));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_come_in_the_order_of_their_lists() {
        let lists = |of: &[usize], most| Set::of(of).firsts(most).map(Set::list).collect::<Vec<_>>();
        assert_eq!(lists(&[2, 5, 7], 9), vec![vec![2], vec![2, 5], vec![2, 5, 7], vec![2, 7]]);
        assert_eq!(lists(&[0, 1, 63], 2), vec![vec![0], vec![0, 1], vec![0, 63]]);
        assert_eq!(lists(&[3], 1), vec![vec![3]]);
        assert!(lists(&[3], 0).is_empty() && lists(&[], 3).is_empty());
        let all = lists(&[0, 1, 2, 3, 4, 5], 6);
        assert!(all.len() == 32 && all.is_sorted());
    }
}

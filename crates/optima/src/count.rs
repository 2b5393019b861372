//! How large the search spaces are (Divide&Content, table I): the number of solutions that a naive
//! search would visit.
//!
//! Mappings are unordered groups of at most `cores` programs. Solutions are counted as in the
//! paper: for every mapping, and for each of its groups *on its own*, each set partition of its
//! programs and each composition of the ways into the same number of parts.

/// The sizes of a search space, saturating at the largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Number of ways to put programs into groups.
    pub mappings: u128,
    /// Number of ways to partition the groups' caches, summed over groups and mappings.
    pub solutions: u128,
}

/// Counts mappings of `programs` programs into at most `groups` groups of at most `cores` programs
/// (`None` = no limit), and solutions on `ways` ways.
#[must_use]
pub fn count(programs: usize, groups: usize, cores: Option<usize>, ways: usize) -> Count {
    let cores = cores.unwrap_or(programs).min(programs);
    let of_set: Vec<u128> = (0..=programs).map(|size| clusterings(size, ways)).collect();
    let choose = pascal(programs);
    // table[n] = (mappings, solutions) of n programs into the groups counted so far. The group of
    // the first program has `size` programs.
    let mut table = vec![Count { mappings: 0, solutions: 0 }; programs + 1];
    table[0].mappings = 1;
    for _ in 0..groups.min(programs) {
        let last = table.clone();
        for n in 1..=programs {
            table[n] = (1..=cores.min(n)).fold(Count { mappings: 0, solutions: 0 }, |sum, size| {
                let rest = last[n - size];
                let chosen = choose[n - 1][size - 1];
                let solutions = of_set[size].saturating_mul(rest.mappings).saturating_add(rest.solutions);
                Count {
                    mappings: sum.mappings.saturating_add(chosen.saturating_mul(rest.mappings)),
                    solutions: sum.solutions.saturating_add(chosen.saturating_mul(solutions)),
                }
            });
        }
    }
    table[programs]
}

/// Set partitions of `size` programs into k clusters, times compositions of `ways` into k parts,
/// summed over every k.
fn clusterings(size: usize, ways: usize) -> u128 {
    let mut partitions = vec![0_u128; size + 1];
    partitions[0] = 1;
    for n in 1..=size {
        for k in (1..=n).rev() {
            partitions[k] =
                u128::try_from(k).unwrap_or(u128::MAX).saturating_mul(partitions[k]).saturating_add(partitions[k - 1]);
        }
        partitions[0] = 0;
    }
    let choose = pascal(ways.max(1) - 1);
    let compositions = |k: usize| if ways == 0 { 0 } else { choose[ways - 1].get(k - 1).copied().unwrap_or(0) };
    (1..=size).fold(0, |sum: u128, k| sum.saturating_add(partitions[k].saturating_mul(compositions(k))))
}

/// The number of sets of 1 to `most` programs among `programs`; saturating.
pub(crate) fn subsets(programs: usize, most: usize) -> u128 {
    let chosen = pascal(programs).pop().unwrap_or_default();
    chosen.into_iter().skip(1).take(most).fold(0, u128::saturating_add)
}

/// Row n, place k: the number of sets of k among n.
fn pascal(last: usize) -> Vec<Vec<u128>> {
    let mut rows = vec![vec![1_u128]];
    for n in 1..=last {
        let above = &rows[n - 1];
        let inner = above.windows(2).map(|pair| pair[0].saturating_add(pair[1]));
        rows.push(std::iter::once(1).chain(inner).chain(std::iter::once(1)).collect());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_one_of_the_paper() {
        let full = |programs, groups| count(programs, groups, Some(4), 16);
        assert_eq!(clusterings(4, 16), 1191);
        assert_eq!(full(8, 2), Count { mappings: 35, solutions: 83_370 });
        assert_eq!(full(12, 3), Count { mappings: 5775, solutions: 20_634_075 });
        assert_eq!(full(16, 4).solutions, 12_518_005_500);
    }

    #[test]
    fn subsets_of_up_to_four() {
        assert_eq!((subsets(24, 4), subsets(5, 9), subsets(3, 0)), (24 + 276 + 2024 + 10_626, 31, 0));
    }

    #[test]
    fn unequal_groups_and_sizes_without_end() {
        // 3 programs, 2 groups: {3}, {2,1} three times. On 2 ways: sets of 1, 2, 3 have 1, 1 + 1 =
        // 2, 1 + 3 = 4 clusterings.
        assert_eq!(count(3, 2, None, 2), Count { mappings: 4, solutions: 4 + 3 * 3 });
        assert_eq!(count(5, 2, Some(2), 4).mappings, 0);
        assert_eq!(count(0, 2, None, 4).mappings, 1);
        assert_eq!(count(90, 30, None, 90).solutions, u128::MAX);
    }
}

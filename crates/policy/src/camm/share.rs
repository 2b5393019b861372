//! Shares out a scarce number of pages.

/// Divides `available` into parts as even as possible, none above what is wanted (max-min
/// fairness). Whoever wants less than an even part gets all of it, and the rest is shared out
/// again. A remainder goes, page by page, to those that want least.
#[must_use]
pub fn fair(wanted: &[u64], available: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&index| wanted[index]);
    let mut left = available;
    let mut parts = vec![0; wanted.len()];
    for (rank, &index) in order.iter().enumerate() {
        let even = left.div_ceil((wanted.len() - rank) as u64);
        parts[index] = wanted[index].min(even);
        left -= parts[index];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::fair;

    #[test]
    fn parts_are_even_and_nothing_is_wasted() {
        assert_eq!(fair(&[10, 20, 30], 100), [10, 20, 30]);
        assert_eq!(fair(&[50, 10, 50], 70), [30, 10, 30]);
        assert_eq!(fair(&[5, 5, 5], 10), [4, 3, 3]);
        assert_eq!(fair(&[5, 5], 0), [0, 0]);
        assert_eq!(fair(&[u64::MAX, u64::MAX], u64::MAX).iter().sum::<u64>(), u64::MAX);
        assert!(fair(&[], 5).is_empty());
    }
}

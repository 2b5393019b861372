//! A part of a sweep: every n-th job. The parts take about equally long, because neighbouring jobs
//! in the grid are similar.

use std::str::FromStr;

/// Part `index` of `of` parts, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        let right = numbers.filter(|(index, of): &(usize, usize)| (1..=*of).contains(index));
        let (index, of) = right.ok_or("expected I/N with I from 1 to N, such as 2/8")?;
        Ok(Self { index: index - 1, of })
    }
}

impl Shard {
    /// The jobs of this part.
    pub fn of<T: Clone>(self, all: &[T]) -> Vec<T> {
        all.iter().skip(self.index).step_by(self.of).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_are_the_whole_once() {
        let all: Vec<u32> = (0..10).collect();
        let mut together: Vec<u32> =
            ["1/3", "2/3", "3/3"].iter().flat_map(|part| part.parse::<Shard>().unwrap().of(&all)).collect();
        together.sort_unstable();
        assert_eq!(together, all);
        assert_eq!("2/3".parse::<Shard>().unwrap().of(&all), [1, 4, 7]);
        for wrong in ["0/3", "4/3", "1/0", "1", "a/b", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}

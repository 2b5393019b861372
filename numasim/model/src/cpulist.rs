//! A list of CPUs as the kernel writes it (`0-3,8`; "cpulist" in
//! Documentation/admin-guide/kernel-parameters). It knows the text; it does not know which CPUs
//! exist.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest number of CPUs of a machine.
pub const CPUS: usize = 256;

/// CPU numbers, ascending, without duplicates. The empty text is the empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// The numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for CpuList {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut all: Vec<_> = cpus.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }
}

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
        let ranges = parts.map(range).collect::<Result<Vec<_>, _>>()?;
        Ok(ranges.into_iter().flatten().collect())
    }
}

fn range(part: &str) -> Result<std::ops::RangeInclusive<usize>, String> {
    let problem = || format!("`{part}` is no CPU list; write CPUs below {CPUS}, such as \"0-3,8\"");
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let number = |text: &str| text.parse::<usize>().ok().filter(|cpu| *cpu < CPUS).ok_or_else(problem);
    let range = number(first)?..=number(last)?;
    if range.is_empty() { Err(problem()) } else { Ok(range) }
}

impl TryFrom<String> for CpuList {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (position, run) in runs.enumerate() {
            let comma = if position == 0 { "" } else { "," };
            match (run.first(), run.last()) {
                (Some(first), Some(last)) if first != last => write!(to, "{comma}{first}-{last}")?,
                (Some(only), _) => write!(to, "{comma}{only}")?,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!("0-2,8".parse::<CpuList>().unwrap().as_slice(), [0, 1, 2, 8]);
        assert_eq!("".parse::<CpuList>().unwrap().as_slice(), [0_usize; 0]);
        for wrong in ["3-1", "a", "1-", "-", "0,,1", "256", "0-300", "-1"] {
            let error = wrong.parse::<CpuList>().unwrap_err();
            assert!(error.contains("is no CPU list"), "{wrong}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(cpus in proptest::collection::vec(0..CPUS, 0..40)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }
    }
}

//! Cache domains: maps the id that the kernel gives a last-level cache to a cache of the page.
//! Reads sysfs once.

use anyhow::{Context, bail};
use numasim_page::Header;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A last-level cache as resctrl knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Domain {
    /// Index of the cache on the page.
    llc: usize,
    /// Number of its ways on the page.
    ways: u32,
    /// Its CPUs, each with the folder in which the kernel describes the cache to that CPU.
    cpus: BTreeMap<u32, PathBuf>,
}

/// Domains by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Domains(BTreeMap<u32, Domain>);

impl Domains {
    /// The domains of the CPUs in a folder such as `/sys/devices/system/cpu`. A cache has the id
    /// that its first CPU shows, because under QEMU its other CPUs may show other ids.
    ///
    /// # Errors
    /// A cache has no id, or the page does not have it.
    pub fn read(cpus: &Path, header: &Header) -> anyhow::Result<Self> {
        let mut found: BTreeMap<u32, Domain> = BTreeMap::new();
        // From the page's number of a cache to the kernel's.
        let mut ids: BTreeMap<usize, u32> = BTreeMap::new();
        for cpu in 0..header.cpus.len() {
            let folder = cpus.join(format!("cpu{cpu}/cache"));
            if !folder.is_dir() {
                continue;
            }
            let cache = last_level(&folder).with_context(|| format!("{} has no L3", folder.display()))?;
            let place = header.cpus.get(cpu).copied().unwrap_or_default();
            let id = if let Some(id) = ids.get(&place.llc) { *id } else { number(&cache.join("id"))? };
            ids.insert(place.llc, id);
            let ways = header.llcs.get(place.llc).map_or(0, |figures| figures.ways);
            let domain = found.entry(id).or_insert_with(|| Domain { llc: place.llc, ways, cpus: BTreeMap::new() });
            if domain.llc != place.llc {
                bail!("two caches of the page have the kernel's id {id}: {}", cache.display());
            }
            domain.cpus.insert(u32::try_from(cpu)?, cache);
        }
        if found.is_empty() { bail!("{} shows no CPU with caches", cpus.display()) } else { Ok(Self(found)) }
    }

    /// The ids.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// The CPUs of all domains.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.0.values().flat_map(|domain| domain.cpus.keys().copied())
    }

    /// Number of ways that every domain has.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.0.values().map(|domain| domain.ways).min().unwrap_or(0)
    }

    /// The page's number of a domain.
    #[must_use]
    pub fn llc(&self, id: u32) -> Option<usize> {
        self.0.get(&id).map(|domain| domain.llc)
    }

    /// The folder in which the kernel describes the cache to each CPU, with the id that it should
    /// show.
    pub fn caches(&self) -> impl Iterator<Item = (u32, &Path)> {
        self.0.iter().flat_map(|(id, domain)| domain.cpus.values().map(|cache| (*id, cache.as_path())))
    }
}

/// The folder of the L3 among the folders of a CPU's caches.
fn last_level(folder: &Path) -> Option<PathBuf> {
    let all = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    all.into_iter().find(|cache| number(&cache.join("level")).ok() == Some(3))
}

fn number(file: &Path) -> anyhow::Result<u32> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    text.trim().parse().with_context(|| format!("{}: `{}`", file.display(), text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_page::{LlcFigures, Place};

    #[test]
    fn a_cache_has_the_id_of_its_first_cpu() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, id) in [(0, 0), (1, 1), (2, 4), (3, 5)] {
            let cache = folder.path().join(format!("cpu{cpu}/cache/index3"));
            std::fs::create_dir_all(&cache).unwrap();
            std::fs::write(cache.join("level"), "3\n").unwrap();
            std::fs::write(cache.join("id"), format!("{id}\n")).unwrap();
        }
        let header = Header {
            llcs: vec![LlcFigures { ways: 16, bytes: 1 << 20 }, LlcFigures { ways: 12, bytes: 1 << 20 }],
            cpus: (0..4).map(|cpu| Place { node: cpu / 2, llc: cpu / 2 }).collect(),
            ..Header::default()
        };
        let domains = Domains::read(folder.path(), &header).unwrap();
        assert_eq!((domains.ids().collect::<Vec<_>>(), domains.ways()), (vec![0, 4], 12));
        assert_eq!((domains.llc(4), domains.llc(5), domains.cpus().count()), (Some(1), None, 4));
        assert!(Domains::read(Path::new("/nonexistent"), &header).is_err());
    }
}

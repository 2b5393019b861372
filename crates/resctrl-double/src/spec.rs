//! A machine from one line of text, for the program:
//! `domains=0:0-3/2:4-7;ways=11;min-bits=1;closids=16;rmids=32;mb;kernel=6.18`. Everything that is
//! left out is as in [`Machine::with_domains`].

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::{Cdp, Domain, Kernel, Machine};
use crate::numbers::{cpu_list, unsigned};

/// What a line may hold, for the message.
const KEYS: &str = "domains=ID:CPUS/ID:CPUS, ways=N, min-bits=N, shareable=HEX, sparse, cdp, no-cdp, closids=N, rmids=N, bytes=N, mb, \
                    no-allocation, no-monitoring, limbo=N, counters=N, silent-until-traffic, offline=CPUS, kernel=MAJOR.MINOR";

impl Machine {
    /// The machine that a line describes; CPUs are ranges such as `0-3`, several joined by `+`.
    ///
    /// # Errors
    /// One line that names the part and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
        // Domains first: bandwidth and monitoring are made of them.
        parts.sort_by_key(|part| !part.starts_with("domains="));
        let mut machine = Self::with_domains(&[(0, &[0])]);
        for part in parts {
            machine.set(part).ok_or_else(|| format!("`{part}`: a machine is made of {KEYS}, separated by `;`"))?;
        }
        Ok(machine)
    }

    /// One part; None where it is wrong.
    fn set(&mut self, part: &str) -> Option<()> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let number = || u32::try_from(unsigned(value, 10)?).ok();
        match key {
            "domains" => self.set_domains(value)?,
            "mb" => *self = self.clone().with_bandwidth(),
            "no-allocation" => (self.caches, self.bandwidth) = (Vec::new(), None),
            "no-monitoring" => self.monitoring = None,
            "offline" => {
                let offline = cpus(value)?;
                self.online.retain(|cpu| !offline.contains(cpu));
            }
            "kernel" => {
                let (major, minor) = value.split_once('.')?;
                self.kernel = Kernel::of_version(major.parse().ok()?, minor.parse().ok()?);
            }
            "rmids" => self.monitoring.as_mut()?.rmids = number()?,
            "limbo" => self.monitoring.as_mut()?.limbo_requests = number()?,
            "counters" => self.monitoring.as_mut()?.counters = Some(number()?),
            "silent-until-traffic" => self.monitoring.as_mut()?.silent_until_traffic = true,
            key => self.set_cache(key, value)?,
        }
        Some(())
    }

    fn set_cache(&mut self, key: &str, value: &str) -> Option<()> {
        let cache = self.caches.first_mut()?;
        let number = || u32::try_from(unsigned(value, 10)?).ok();
        match key {
            "ways" => cache.ways = number().filter(|ways| (1..=32).contains(ways))?,
            "min-bits" => cache.min_bits = number()?,
            "shareable" => cache.shareable = u32::try_from(unsigned(value, 16)?).ok()?,
            "sparse" => cache.sparse = true,
            "cdp" => cache.cdp = Cdp::On,
            "no-cdp" => cache.cdp = Cdp::Absent,
            "closids" => cache.closids = number().filter(|closids| *closids > 0)?,
            "bytes" => {
                let bytes = unsigned(value, 10)?;
                cache.domains.values_mut().for_each(|domain| domain.bytes = bytes);
            }
            _ => return None,
        }
        Some(())
    }

    fn set_domains(&mut self, text: &str) -> Option<()> {
        let bytes = self.caches.first()?.domains.values().next()?.bytes;
        let domain = |text: &str| {
            let (id, list) = text.split_once(':')?;
            Some((u32::try_from(unsigned(id, 10)?).ok()?, Domain { cpus: cpus(list)?, bytes }))
        };
        let domains: BTreeMap<u32, Domain> = text.split('/').map(domain).collect::<Option<_>>()?;
        self.online = domains.values().flat_map(|domain| domain.cpus.iter().copied()).collect();
        self.possible_cpus = self.online.last()? + 1;
        self.monitoring.as_mut()?.domains.clone_from(&domains);
        self.caches.first_mut()?.domains = domains;
        Some(())
    }
}

/// CPU ranges joined by `+`.
fn cpus(text: &str) -> Option<BTreeSet<u32>> {
    cpu_list(&text.replace('+', ","), 8192).ok().filter(|cpus| !cpus.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_from_a_line() {
        let machine =
            Machine::parse("ways=12;mb;domains=0:0-1+4/3:2-3;closids=4;rmids=8;shareable=c00;cdp;kernel=6.18;limbo=2")
                .unwrap();
        let cache = &machine.caches[0];
        assert_eq!(cache.domains.keys().copied().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(cache.domains[&0].cpus, BTreeSet::from([0, 1, 4]));
        assert_eq!((cache.ways, cache.shareable, cache.cdp, machine.closids()), (12, 0xc00, Cdp::On, 2));
        assert_eq!(machine.bandwidth.as_ref().unwrap().domains.len(), 2);
        assert_eq!(machine.monitoring.as_ref().unwrap().rmids, 8);
        assert_eq!((machine.possible_cpus, machine.kernel.padded), (5, false));
        let only_monitoring = Machine::parse("no-allocation").unwrap();
        assert!(!only_monitoring.allocates() && only_monitoring.closids() == 0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for wrong in
            ["ways=0", "ways=33", "wais=3", "domains=0", "domains=0:", "kernel=6", "no-monitoring;rmids=3", "closids=0"]
        {
            let error = Machine::parse(wrong).unwrap_err();
            assert!(error.contains("a machine is made of") && !error.contains('\n'), "{wrong}: {error}");
        }
    }
}

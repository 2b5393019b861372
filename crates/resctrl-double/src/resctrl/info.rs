//! The `info` folder ("Info directory" of Documentation/filesystems/resctrl.rst; the `*_show`
//! functions and `fflags` of `res_common_files` in fs/resctrl/rdtgroup.c). A file that this machine
//! or kernel does not have gives None, and then it is not listed either.

use super::allocation::Resource;
use super::{Event, MonitoringFile, Resctrl, ResourceFile};
use crate::machine::{Bandwidth, Cache};

impl Resctrl {
    pub(super) fn resource_file(&self, schema: usize, file: ResourceFile) -> Option<String> {
        let found = self.schemas.get(schema)?;
        if file == ResourceFile::NumClosids {
            return Some(format!("{}\n", found.closids));
        }
        match &found.resource {
            Resource::Cache(cache) => self.cache_file(schema, cache, file),
            Resource::Bandwidth(bandwidth) => bandwidth_file(bandwidth, file),
        }
    }

    fn cache_file(&self, schema: usize, cache: &Cache, file: ResourceFile) -> Option<String> {
        let kernel = self.machine.kernel;
        match file {
            ResourceFile::CbmMask => Some(format!("{:x}\n", cache.full())),
            ResourceFile::MinCbmBits => Some(format!("{}\n", cache.min_bits)),
            ResourceFile::ShareableBits => Some(format!("{:x}\n", cache.shareable)),
            ResourceFile::BitUsage => kernel.modes.then(|| self.show_bit_usage(schema, cache)),
            ResourceFile::SparseMasks => kernel.sparse_masks.then(|| format!("{}\n", u32::from(cache.sparse))),
            _ => None,
        }
    }

    pub(super) fn monitoring_file(&self, file: MonitoringFile) -> Option<String> {
        let monitoring = self.machine.monitoring.as_ref()?;
        let by_domain = |value: u32| {
            let domains: Vec<String> = monitoring.domains.keys().map(|domain| format!("{domain}={value}")).collect();
            format!("{}\n", domains.join(";"))
        };
        match file {
            MonitoringFile::NumRmids => Some(format!("{}\n", monitoring.rmids)),
            MonitoringFile::MonFeatures => {
                Some(self.events().into_iter().map(|event: Event| format!("{}\n", event.name())).collect())
            }
            MonitoringFile::MaxThresholdOccupancy => Some(format!("{}\n", self.threshold())),
            MonitoringFile::MbmAssignMode => monitoring.counters.map(|_| "[mbm_event]\ndefault\n".to_owned()),
            MonitoringFile::NumMbmCntrs => monitoring.counters.map(by_domain),
            MonitoringFile::AvailableMbmCntrs => self.counters_left().map(by_domain),
        }
    }
}

fn bandwidth_file(bandwidth: &Bandwidth, file: ResourceFile) -> Option<String> {
    match file {
        ResourceFile::MinBandwidth => Some(format!("{}\n", bandwidth.min)),
        ResourceFile::BandwidthGran => Some(format!("{}\n", bandwidth.step)),
        ResourceFile::DelayLinear => Some(format!("{}\n", u32::from(bandwidth.linear))),
        ResourceFile::ThreadThrottleMode => bandwidth.throttle_mode.map(|mode| format!("{mode}\n")),
        _ => None,
    }
}

//! Page profiles of the kernels in `numasim/programs`, made by `scripts/page-profiles.sh`. They
//! hold every access, with 64 threads, and with 8 for the machine that cannot run more.

use crate::error::LabError;
use isobar_pages::PageProfile;

/// A kernel.
pub(super) struct Kernel {
    pub name: &'static str,
    /// The profile with 64 threads.
    pub wide: PageProfile,
    /// The profile with 8 threads.
    pub narrow: PageProfile,
}

macro_rules! kernel {
    ($name:literal) => {
        (
            $name,
            include_bytes!(concat!("profiles/", $name, "-64.trace")).as_slice(),
            include_bytes!(concat!("profiles/", $name, "-8.trace")).as_slice(),
        )
    };
}

const SHIPPED: [(&str, &[u8], &[u8]); 6] =
    [kernel!("matrix"), kernel!("cg"), kernel!("ft"), kernel!("stencil"), kernel!("table"), kernel!("pipeline")];

/// All kernels.
pub(super) fn kernels() -> Result<Vec<Kernel>, LabError> {
    let read = |(name, wide, narrow): (&'static str, &[u8], &[u8])| {
        let profile = |bytes| PageProfile::read(bytes).map_err(|cause| LabError::Profile { name, cause });
        Ok(Kernel { name, wide: profile(wide)?, narrow: profile(narrow)? })
    };
    SHIPPED.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first thread and its 63 or 7 others; each profile is a whole trace of every access by a
    /// tracing engine.
    #[test]
    fn profiles_are_whole_and_traced() {
        for kernel in kernels().unwrap() {
            for (profile, threads) in [(&kernel.wide, 64), (&kernel.narrow, 8)] {
                assert_eq!(profile.usage.threads(), threads, "{}", kernel.name);
                assert!(profile.end.is_some() && profile.header.sampled.is_none(), "{}", kernel.name);
                assert!(profile.header.engine.starts_with("qemu-user"), "{}", profile.header.engine);
                assert!(profile.header.command[0].ends_with(kernel.name), "{:?}", profile.header.command);
            }
        }
    }
}

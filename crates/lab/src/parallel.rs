//! Runs independent pieces of work side by side. Results come in the order of the work, whichever
//! piece ends first.

use crate::error::LabError;
use rayon::prelude::*;

/// Does each piece of work, `jobs` at a time. If several fail, the first failure in order is
/// returned.
pub(crate) fn each<T: Sync, R: Send>(
    jobs: usize,
    work: &[T],
    one: impl Fn(&T) -> Result<R, LabError> + Sync,
) -> Result<Vec<R>, LabError> {
    if jobs <= 1 {
        return work.iter().map(one).collect();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|cause| LabError::Jobs { jobs, cause })?;
    let done: Vec<_> = pool.install(|| work.par_iter().map(&one).collect());
    done.into_iter().collect()
}

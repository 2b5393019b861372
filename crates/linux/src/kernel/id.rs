//! Ids of tasks in the kernel's type.

/// An id in the kernel's type; `None` for 0 (which would mean the caller) and for numbers that are
/// no ids at all.
pub(crate) fn kernel_id(id: u32) -> Option<libc::pid_t> {
    libc::pid_t::try_from(id).ok().filter(|id| *id > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_id_is_none() {
        assert_eq!([0, 1, i32::MAX.unsigned_abs(), u32::MAX].map(kernel_id), [None, Some(1), Some(i32::MAX), None]);
    }
}

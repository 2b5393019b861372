//! Names of the kernel's error numbers, as errno(3) has them.

/// The error numbers that Linux returns from calls on threads, pages and files. Those below 35 are
/// the same on every architecture, the others on all architectures that isobar runs on.
const NAMES: [(i32, &str); 31] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (3, "ESRCH"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (32, "EPIPE"),
    (34, "ERANGE"),
    (38, "ENOSYS"),
    (95, "EOPNOTSUPP"),
    (110, "ETIMEDOUT"),
    (116, "ESTALE"),
];

/// The name of an error number; the number itself if it is not listed here; `none` if the kernel
/// was not asked.
pub fn name(errno: Option<i32>) -> String {
    let Some(number) = errno else { return "none".to_owned() };
    NAMES.iter().find(|(known, _)| *known == number).map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!([name(Some(1)), name(Some(99)), name(None)], ["EPERM", "99", "none"]);
    }
}

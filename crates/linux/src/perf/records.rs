//! Iterates over the records in the bytes of a ring buffer (`perf_event_open(2)`, "MMAP layout").
//! It knows their headers, and not their content.

/// The header: type (u32), misc (u16), size of the whole record (u16).
pub const HEADER: usize = 8;

/// Type and body of each record, until the bytes end or a record has an impossible size, after
/// which nothing can be read.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    with_misc(bytes).map(|(kind, _, body)| (kind, body))
}

/// The same, with the header field between type and size.
pub fn with_misc(bytes: &[u8]) -> impl Iterator<Item = (u32, u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let kind = u32::from_ne_bytes(field(rest, 0)?);
        let misc = u16::from_ne_bytes(field(rest, 4)?);
        let size = usize::from(u16::from_ne_bytes(field(rest, 6)?));
        let body = rest.get(HEADER..size)?;
        rest = &rest[size..];
        Some((kind, misc, body))
    })
}

/// The bytes of a field; `None` if the record is too short.
#[must_use]
pub fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record as the kernel writes it.
    pub fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(HEADER + body.len()).unwrap();
        [&kind.to_ne_bytes()[..], &[0; 2], &size.to_ne_bytes(), body].concat()
    }
}

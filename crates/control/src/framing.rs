//! Splits a byte stream into lines, however the bytes arrive.

/// A line is longer than the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of more than {0} bytes: no message of isobar is that long")]
pub struct TooLong(usize);

/// Takes bytes and returns lines.
#[derive(Clone, Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    most: usize,
}

impl Lines {
    /// Lines of at most `most` bytes, including the end of line.
    #[must_use]
    pub const fn of(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }

    /// Takes the bytes that arrived. Keeps at most one line's maximum, plus the bytes of the last
    /// call.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next line without its end; `None` if no whole line has arrived yet.
    ///
    /// # Errors
    /// [`TooLong`]: nothing that follows can be understood.
    pub fn next_line(&mut self) -> Result<Option<String>, TooLong> {
        let end = self.bytes.iter().take(self.most).position(|byte| *byte == b'\n');
        match end {
            Some(end) => {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()))
            }
            None if self.bytes.len() >= self.most => Err(TooLong(self.most)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_bounded() {
        let mut lines = Lines::of(6);
        lines.push(b"ab");
        assert_eq!(lines.next_line(), Ok(None));
        lines.push(b"c\n\nde");
        assert_eq!(lines.next_line(), Ok(Some("abc".into())));
        assert_eq!(lines.next_line(), Ok(Some(String::new())));
        assert_eq!(lines.next_line(), Ok(None));
        lines.push(b"fgh\n");
        assert_eq!(lines.next_line(), Ok(Some("defgh".into())), "six bytes with its end");
        lines.push(b"123456\n");
        assert_eq!(lines.next_line(), Err(TooLong(6)));
    }
}

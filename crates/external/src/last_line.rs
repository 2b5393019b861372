//! The last line of a stream, however much was written before it, because most programs state there
//! why they end. The memory used is bounded, whatever the stream contains.

/// Maximum number of bytes kept of a line.
const MOST: usize = 400;

/// Reads a stream and keeps its last line that is not blank.
#[derive(Debug, Default)]
pub struct LastLine {
    current: Vec<u8>,
    last: Vec<u8>,
}

impl LastLine {
    /// Reads the next bytes of the stream.
    pub fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let kept = piece.len().min(MOST - self.current.len());
            self.current.extend_from_slice(&piece[..kept]);
            if piece.ends_with(b"\n") {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if !self.current.trim_ascii().is_empty() {
            self.last = self.current.trim_ascii().to_vec();
        }
        self.current.clear();
    }

    /// The line; `None` if nothing was written.
    pub fn text(&self) -> Option<String> {
        let now = self.current.trim_ascii();
        let line = if now.is_empty() { &self.last } else { now };
        (!line.is_empty()).then(|| String::from_utf8_lossy(line).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_something_in_it_is_kept() {
        let of = |pieces: &[&str]| {
            let mut line = LastLine::default();
            pieces.iter().for_each(|piece| line.take(piece.as_bytes()));
            line.text()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["\n \n"]), None);
        assert_eq!(of(&["Traceback\n  File x\nKeyError", ": 'pid'\n\n"]).unwrap(), "KeyError: 'pid'");
        assert_eq!(of(&["one\n", "two, not ended"]).unwrap(), "two, not ended");
        assert_eq!(of(&["x".repeat(5000).as_str(), "\n"]).unwrap().len(), MOST);
        assert_eq!(of(&["x".repeat(5000).as_str(), "y\nend\n"]).unwrap(), "end");
    }
}

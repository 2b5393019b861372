//! Errors in a machine file or in a value that the guest writes. Each message is one line that
//! names the file or the knob, the key, and the remedy.

/// Why a machine file is refused: the line or the key, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct SpecError {
    /// The file, as the caller names it.
    file: String,
    problem: String,
}

impl SpecError {
    /// An impossible value.
    pub(crate) fn value(file: &str, key: &str, problem: impl Into<String>) -> Self {
        Self { file: one_line(file), problem: format!("`{key}` {}", one_line(&problem.into())) }
    }

    /// The text is not TOML of the expected form; an unknown key is named.
    pub(crate) fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count());
        let message = one_line(&error.message().split_whitespace().collect::<Vec<_>>().join(" "));
        let problem = line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}"));
        Self { file: one_line(file), problem }
    }
}

/// Why a way mask or a class of service is refused; nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnobError {
    /// an LLC that the machine does not have
    #[error("LLC {llc} does not exist; the machine has {count}, numbered from 0")]
    Llc {
        /// as requested
        llc: usize,
        /// how many there are
        count: usize,
    },
    /// a CPU that the machine does not have
    #[error("CPU {cpu} does not exist; the machine has {count}, numbered from 0")]
    Cpu {
        /// as requested
        cpu: usize,
        /// how many there are
        count: usize,
    },
    /// a class of service that the LLC does not have
    #[error("class of service {clos} does not exist on LLC {llc}; it has {count}, numbered from 0")]
    Clos {
        /// the LLC
        llc: usize,
        /// as requested
        clos: usize,
        /// how many there are
        count: usize,
    },
    /// a mask without a way, or with ways that the LLC does not have
    #[error("way mask {mask:#x} of LLC {llc} must have at least one bit, none beyond {full:#x}")]
    Mask {
        /// the LLC
        llc: usize,
        /// as requested
        mask: u64,
        /// all its ways
        full: u64,
    },
}

/// The text with control characters escaped, so that a message stays on one line.
fn one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

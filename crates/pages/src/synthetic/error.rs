//! Errors in a recipe. Each message is one line that names the key and the remedy.

/// Why a trace cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// an invalid value
    #[error("trace recipe: `{key}` {problem}")]
    Value {
        /// the key
        key: String,
        /// what is wrong with its value, and what would be right
        problem: String,
    },
}

impl RecipeError {
    pub(super) fn value(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Value { key: key.into(), problem: problem.into() }
    }
}

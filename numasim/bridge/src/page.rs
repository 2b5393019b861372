//! Opens the page: the ivshmem device of the guest or, in tests, a file.

use crate::error::NumasimError;
use numasim_page::{Guest, Mapping, PageError};
use std::path::Path;
use std::sync::Arc;

/// The page of a guest.
pub type Page = Guest<Mapping>;

/// Opens the page of this machine, or a page in a file; `key` is the setting that names the page.
/// The plugin must be modelling, because before that everything reads 0.
///
/// # Errors
/// [`NumasimError::Page`].
pub fn open(file: Option<&Path>, key: &'static str) -> Result<Arc<Page>, NumasimError> {
    let open = || -> Result<Page, PageError> {
        let page = Guest::open(file.map_or_else(Mapping::device, Mapping::file)?)?;
        page.check()?;
        Ok(page)
    };
    open().map(Arc::new).map_err(|source| NumasimError::Page { key, source })
}

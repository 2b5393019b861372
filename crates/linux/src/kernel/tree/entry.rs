//! Keeps files, folders and links in memory, as an archive holds them. Links are followed inside
//! the tree and never out of it.

use std::collections::BTreeMap;

/// The largest file that is read: kernel attribute files are one page, lists of many CPUs a few
/// pages.
pub(super) const MAX_FILE: u64 = 1 << 20;

/// The deepest path that is kept; sysfs needs ten.
const MAX_DEPTH: usize = 32;

/// The most links that one lookup follows: Linux gives up at 40, and no kernel tree chains more
/// than a few.
const MAX_LINKS: usize = 8;

/// The text of a kernel file. Some kernels around 5.15 end CPU lists in a zero byte, which is not
/// part of the text.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// A place in the tree.
#[derive(Debug)]
pub(super) enum Entry {
    /// A file's text.
    File(String),
    /// The target of a link, from the root, as components.
    Link(Vec<String>),
    /// The entries of a folder.
    Folder(BTreeMap<String, Entry>),
}

impl Entry {
    /// An empty root.
    pub(super) const fn root() -> Self {
        Self::Folder(BTreeMap::new())
    }

    /// Puts an entry at a path, creates the missing folders above it, and returns how many of them
    /// it created. An entry that is already there is replaced, as when unpacking. A path that is
    /// too deep, or below a file, is left out.
    pub(super) fn insert(&mut self, path: &[&str], entry: Self) -> u64 {
        let mut made = 0;
        let (Some((name, folders)), true) = (path.split_last(), path.len() <= MAX_DEPTH) else { return made };
        let mut here = self;
        for folder in folders {
            let Self::Folder(names) = here else { return made };
            // Most folders exist already, and the key of an entry would be a new string each time.
            if !names.contains_key(*folder) {
                names.insert((*folder).to_owned(), Self::root());
                made += 1;
            }
            let Some(inside) = names.get_mut(*folder) else { return made };
            here = inside;
        }
        if let Self::Folder(names) = here {
            // A folder that is announced after its files keeps them.
            let keep = matches!((&entry, names.get(*name)), (Self::Folder(_), Some(Self::Folder(_))));
            if !keep {
                names.insert((*name).to_owned(), entry);
            }
        }
        made
    }

    /// The entry at a path, with links followed.
    pub(super) fn find(&self, path: &str) -> Option<&Self> {
        let mut rest: Vec<&str> = components(path).rev().collect();
        let (mut here, mut links) = (self, 0);
        while let Some(name) = rest.pop() {
            let Self::Folder(names) = here else { return None };
            here = names.get(name)?;
            if let Self::Link(target) = here {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                rest.extend(target.iter().rev().map(String::as_str));
                here = self;
            }
        }
        Some(here)
    }
}

/// The names in a path, without empty ones and dots.
pub(super) fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// Where a link in `folder` leads, from the root; `None` if it leaves the tree.
pub(super) fn resolve(folder: &[&str], target: &str) -> Option<Vec<String>> {
    let above = if target.starts_with('/') { &[] } else { folder };
    let mut path: Vec<String> = above.iter().map(|&name| name.to_owned()).collect();
    for name in components(target) {
        if name == ".." {
            path.pop()?;
        } else {
            path.push(name.to_owned());
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> Vec<&str> {
        components(text).collect()
    }

    fn link<'a>(at: &'a str, target: &str) -> (Vec<&'a str>, Entry) {
        let at = path(at);
        let target = resolve(&at[..at.len() - 1], target).unwrap();
        (at, Entry::Link(target))
    }

    #[test]
    fn links_are_followed_inside_the_tree() {
        let mut root = Entry::root();
        root.insert(&path("cpu/cpu0/topology/core_id"), Entry::File("7".into()));
        let (at, entry) = link("node/node0/cpu0", "../../cpu/cpu0");
        root.insert(&at, entry);
        assert!(matches!(root.find("node/node0/cpu0/topology/core_id"), Some(Entry::File(text)) if text == "7"));
        assert_eq!(resolve(&path("node"), "../../../etc"), None);
    }

    #[test]
    fn links_in_a_circle_end() {
        let mut root = Entry::root();
        for (at, entry) in [link("a/x", "../b/x"), link("b/x", "../a/x"), link("c/x", ".")] {
            root.insert(&at, entry);
        }
        assert!(root.find("a/x").is_none());
        assert!(matches!(root.find("c/x/x"), Some(Entry::Folder(_))));
    }

    #[test]
    fn a_folder_announced_late_keeps_its_files() {
        let mut root = Entry::root();
        root.insert(&path("cpu/online"), Entry::File("0".into()));
        root.insert(&path("cpu"), Entry::root());
        assert!(root.find("cpu/online").is_some());
        root.insert(&["deep"; 40], Entry::File(String::new()));
        assert!(root.find("deep").is_none());
    }

    proptest! {
        #[test]
        fn any_links_end(pairs in prop::collection::vec(("[ab]/[ab]", "(\\.\\./)?[ab](/[ab])?"), 0..8), asked in "[ab](/[ab]){0,6}") {
            let mut root = Entry::root();
            for (at, target) in &pairs {
                let at = path(at);
                if let Some(target) = resolve(&at[..1], target) {
                    root.insert(&at, Entry::Link(target));
                }
            }
            let _ = root.find(&asked);
        }
    }
}

//! Which file of a crate uses which, read from the source code without compiling it. Tests are left
//! out, because a test may use anything.
//!
//! A name leads to the file that defines it, even if a `mod.rs` re-exports it. Names that no rule
//! below resolves (items of other crates, local names) are not edges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// A module by its path from the root of the crate: `[]` is `lib.rs` or `main.rs`.
pub type Module = Vec<String>;

/// Uses of one module by another: from, to.
pub type Edges = BTreeSet<(Module, Module)>;

/// The modules of a crate, and which of them use which.
pub struct Crate {
    files: BTreeMap<Module, Parsed>,
}

/// One file: what it names, and what it re-exports.
struct Parsed {
    /// The path below the folder of sources.
    path: PathBuf,
    /// Every path in it, as written, with `use` trees expanded.
    named: BTreeSet<Vec<String>>,
    /// `use` with a visibility: the new name, and the path that it comes from.
    handed_on: BTreeMap<String, Vec<String>>,
}

impl Crate {
    /// Reads every file below `src` that the crate's root declares outside tests.
    pub fn read(src: &Path) -> Self {
        let mut files = BTreeMap::new();
        let root = ["lib.rs", "main.rs"].iter().map(|name| src.join(name)).find(|path| path.exists()).unwrap();
        add(&mut files, Vec::new(), &root, src);
        Self { files }
    }

    /// Every use of one file by another: from, to.
    pub fn file_edges(&self) -> Edges {
        let edges = self.files.iter().flat_map(|(from, parsed)| {
            let used = parsed.named.iter().filter_map(|path| self.resolve(from, path, 0));
            used.filter(move |to| to != from).map(|to| (from.clone(), to))
        });
        edges.collect()
    }

    /// Every use of one module by another in the same folder, including everything below them. A
    /// module and what is below it count as one here.
    pub fn folder_edges(&self) -> Edges {
        let siblings = |(from, to): (Module, Module)| {
            let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            let side = |module: &Module| module.get(..=shared).map(<[String]>::to_vec);
            Some((side(&from)?, side(&to)?))
        };
        self.file_edges().into_iter().filter_map(siblings).collect()
    }

    /// The file of a module, below the folder of sources.
    pub fn path(&self, module: &Module) -> &Path {
        &self.files[module].path
    }

    /// Number of files read.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// The file that defines the item that a path in the file `at` names.
    fn resolve(&self, at: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (at.clone(), &path[1..]),
            "super" => (at[..at.len().checked_sub(1)?].to_vec(), &path[1..]),
            name => {
                let child: Module = at.iter().cloned().chain([name.to_owned()]).collect();
                self.files.contains_key(&child).then_some((child, &path[1..]))?
            }
        };
        while let Some(name) = rest.first() {
            if name == "super" {
                module.pop()?;
            } else {
                let child: Module = module.iter().cloned().chain([name.clone()]).collect();
                if !self.files.contains_key(&child) {
                    break;
                }
                module = child;
            }
            rest = &rest[1..];
        }
        let parsed = self.files.get(&module)?;
        let handed_on = rest.first().and_then(|name| parsed.handed_on.get(name));
        match handed_on {
            Some(from) if depth < 8 => self.resolve(&module, from, depth + 1).or(Some(module)),
            _ => Some(module),
        }
    }
}

fn add(files: &mut BTreeMap<Module, Parsed>, module: Module, path: &Path, src: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = Reader::default();
    reader.visit_file(&file);
    let used = reader.used();
    let folder: PathBuf = src.join(module.iter().collect::<PathBuf>());
    for name in reader.declared {
        let child: Module = module.iter().cloned().chain([name.clone()]).collect();
        let places = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        let place = places.into_iter().find(|place| place.exists());
        let place = place.unwrap_or_else(|| panic!("{}: no file of module {name}", path.display()));
        add(files, child, &place, src);
    }
    files.insert(
        module,
        Parsed { path: path.strip_prefix(src).unwrap().to_owned(), named: used, handed_on: reader.handed_on },
    );
}

/// Collects what one file declares and names, without code that is compiled only for tests.
#[derive(Default)]
struct Reader {
    declared: Vec<String>,
    named: BTreeSet<Vec<String>>,
    handed_on: BTreeMap<String, Vec<String>>,
    /// Types and functions that the code names: a re-exported name that is listed here is also
    /// used.
    mentioned: BTreeSet<String>,
}

impl Reader {
    /// Every path that the file uses.
    fn used(&self) -> BTreeSet<Vec<String>> {
        let own = self.handed_on.iter().filter(|(name, _)| self.mentioned.contains(*name));
        self.named.iter().cloned().chain(own.map(|(_, path)| path.clone())).collect()
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String], public: bool) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident), public),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(item, before, public)),
            syn::UseTree::Name(name) if name.ident == "self" => self.leaf(before.to_vec(), None, public),
            syn::UseTree::Name(name) => self.leaf(with(&name.ident), Some(name.ident.to_string()), public),
            syn::UseTree::Rename(to) => self.leaf(with(&to.ident), Some(to.rename.to_string()), public),
            syn::UseTree::Glob(_) => self.leaf(before.to_vec(), None, public),
        }
    }

    /// A name that a file only re-exports is not used by the file, as far as the direction of
    /// imports is concerned.
    fn leaf(&mut self, path: Vec<String>, name: Option<String>, public: bool) {
        match name {
            Some(name) if public => drop(self.handed_on.insert(name, path)),
            _ => drop(self.named.insert(path)),
        }
    }

    /// Paths inside the arguments of a macro, which are not parsed as syntax.
    fn tokens(&mut self, tokens: &proc_macro2::TokenStream) {
        let text = tokens.to_string();
        for start in ["crate ::", "super ::", "self ::"] {
            for (at, _) in text.match_indices(start) {
                let word = |part: &str| part.trim().chars().all(|c| c.is_alphanumeric() || c == '_');
                let parts = text[at..].split("::").map(str::trim);
                let cut =
                    |part: &str| part.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap().to_owned();
                let mut path = Vec::new();
                for part in parts {
                    path.push(cut(part));
                    if !word(part) {
                        break;
                    }
                }
                self.named.insert(path);
            }
        }
    }
}

fn only_for_tests(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            let condition = list.tokens.to_string();
            list.path.is_ident("cfg") && condition.contains("test") && !condition.contains("not")
        }
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::NameValue(_) => false,
    };
    attributes.iter().any(is_test)
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if only_for_tests(&item.attrs) {
            return;
        }
        match &item.content {
            None => self.declared.push(item.ident.to_string()),
            Some(_) => visit::visit_item_mod(self, item),
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !only_for_tests(&item.attrs) {
            self.tree(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !only_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !only_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // A single lower-case name may also be a variable, unless it is called.
        let first = path.segments.first().map(|segment| segment.ident.to_string());
        self.mentioned.extend(first.filter(|name| name.starts_with(char::is_uppercase)));
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.named.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func {
            self.mentioned.extend(function.path.get_ident().map(ToString::to_string));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(&item.tokens);
        visit::visit_macro(self, item);
    }

    /// `#[error("{}", crate::limits::MOST)]` also uses a path.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(&list.tokens);
        }
        visit::visit_attribute(self, attribute);
    }
}

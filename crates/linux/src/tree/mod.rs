//! A tree of kernel text files: the live one, a captured folder, or a captured archive.

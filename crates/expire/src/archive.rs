//! The archive directories of a policy.

/// A directory to which expired articles are copied before they are removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Archive {
    /// The path, absolute or relative to the news directory.
    pub path: Vec<u8>,
    /// The layout of the articles in it.
    pub layout: Layout,
}

/// The layout of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `group/as/directories/number`, as in the classic spool.
    Tree,
    /// `number` in the directory itself, for any group (a leading `=` in `explist`): suitable for one group.
    Flat,
    /// A second news directory, which a server can serve later.
    Segments,
}

impl Archive {
    /// Parses a classic directory: a path, with a leading `=` for flat. `None` if
    /// the path is empty or contains a NUL.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (path, layout) = match text.strip_prefix(b"=") {
            Some(path) => (path, Layout::Flat),
            None => (text, Layout::Tree),
        };
        if path.is_empty() || path.contains(&0) {
            return None;
        }
        Some(Self {
            path: path.to_vec(),
            layout,
        })
    }
}

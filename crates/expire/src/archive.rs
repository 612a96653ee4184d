//! Where expired articles are copied first.

/// A directory that expired articles are copied to before they go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Archive {
    /// Absolute, or relative to the news directory.
    pub path: Vec<u8>,
    /// How articles lie in it.
    pub layout: Layout,
}

/// How articles lie in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `group/as/directories/number`, as the classic spool.
    Tree,
    /// `number` in the directory itself, whatever the group (a leading `=` in `explist`): for one group.
    Flat,
    /// A second news directory, which can be served later.
    Segments,
}

impl Archive {
    /// Reads a classic directory: a path, with a leading `=` for flat. `None` if
    /// no path is left, or it holds a NUL.
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

//! What `expire -g` complains of: an Expires that cannot be read, as in C News in each run as long as the article is there.

use store::{Expires, HistoryLine, Reader};

/// Articles told one by one; more are only counted.
pub const TOLD_MAX: usize = 1000;

/// The articles whose Expires cannot be read: the default rules them.
#[derive(Debug, Default)]
pub struct Unreadable {
    /// How many there are.
    pub count: u64,
    /// The first of them, in the order of history.
    pub told: Vec<Complaint>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Its message-id.
    pub id: Vec<u8>,
    /// The first group that it is in still.
    pub group: Vec<u8>,
    /// Its number there.
    pub number: u64,
    /// What its Expires says, as history keeps it.
    pub text: Vec<u8>,
}

/// `group/number <id>: Expires `TEXT' cannot be read, the default counts`
impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |bytes| String::from_utf8_lossy(bytes).replace(char::is_control, " ");
        write!(
            f,
            "{}/{} {}: Expires `{}' cannot be read, the default counts",
            shown(&self.group),
            self.number,
            shown(&self.id),
            shown(&self.text)
        )
    }
}

impl Unreadable {
    /// Looks at a line before anything is decided about it. What is gone already, or was cancelled, is passed over.
    pub(crate) fn look_at(&mut self, reader: &Reader, line: &HistoryLine<'_>) {
        let (Expires::Unreadable(text), Some(position)) = (line.expires, line.position) else {
            return;
        };
        let is_there =
            |(group, number): &(&[u8], u64)| reader.is_alive_in(group, *number, position);
        let Some((group, number)) = line.links().find(is_there) else {
            return;
        };
        self.count += 1;
        if self.told.len() < TOLD_MAX {
            self.told.push(Complaint {
                id: line.id.to_vec(),
                group: group.to_vec(),
                number,
                text: text.to_vec(),
            });
        }
    }
}

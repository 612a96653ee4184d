//! The changes of groups that a control message requests, and applying them.

use groups::Flag;
use groups::times::GroupCreation;
use store::{GroupEdits, Spool};

use crate::error::Error;

/// Changes of groups. Names follow the rules for new groups; descriptions are made valid when they are written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Groups to create: name, and whether it is moderated.
    pub added: Vec<(Vec<u8>, bool)>,
    /// Groups that become moderated or unmoderated.
    pub flagged: Vec<(Vec<u8>, bool)>,
    /// Groups to remove.
    pub removed: Vec<Vec<u8>>,
    /// New descriptions.
    pub described: Vec<(Vec<u8>, Vec<u8>)>,
    /// Groups of a list that are not created, with the reason. They change nothing.
    pub left_out: Vec<(Vec<u8>, String)>,
}

impl Changes {
    /// True without any change.
    pub fn is_empty(&self) -> bool {
        self.group_count() == 0 && self.described.is_empty()
    }

    /// Number of groups to create, change and remove; descriptions do not count.
    pub fn group_count(&self) -> usize {
        self.added.len() + self.flagged.len() + self.removed.len()
    }

    /// The number of changes of each type, as text.
    pub fn summary(&self) -> String {
        let left_out = match self.left_out.len() {
            0 => String::new(),
            count => {
                let names = self.left_out.iter().map(|(name, _)| groups::escaped(name));
                let names: Vec<String> = names.collect();
                format!(", {count} left out: {}", names.join(" "))
            }
        };
        format!(
            "{} to add, {} to change, {} to remove, {} to describe{left_out}",
            self.added.len(),
            self.flagged.len(),
            self.removed.len(),
            self.described.len()
        )
    }

    /// One line for each change: `add GROUP y`, `change GROUP m`, `remove GROUP`, `describe GROUP TEXT`; and for each group of a list
    /// that is not created, `leave out GROUP: REASON`.
    pub fn lines(&self) -> Vec<Vec<u8>> {
        let flag = |moderated: bool| -> &[u8] { if moderated { b" m" } else { b" y" } };
        let set = |verb: &'static [u8], groups: &[(Vec<u8>, bool)]| -> Vec<Vec<u8>> {
            let line = |(name, moderated): &(Vec<u8>, bool)| {
                [verb, name.as_slice(), flag(*moderated)].concat()
            };
            groups.iter().map(line).collect()
        };
        let mut lines = set(b"add ", &self.added);
        lines.extend(set(b"change ", &self.flagged));
        lines.extend(
            self.removed
                .iter()
                .map(|name| [b"remove ", name.as_slice()].concat()),
        );
        lines.extend(
            self.described
                .iter()
                .map(|(name, text)| [b"describe ", name.as_slice(), b" ", text].concat()),
        );
        let left_out = |(name, why): &(Vec<u8>, String)| {
            [b"leave out ", name.as_slice(), b": ", why.as_bytes()].concat()
        };
        lines.extend(self.left_out.iter().map(left_out));
        lines
    }

    /// Applies the changes: to `newsgroups` and `active.times` immediately, to `active` and the log with the next commit of the spool. A kill
    /// before that commit leaves superfluous lines in the first two files, and the message is received again.
    ///
    /// # Errors
    /// Errors of the files and of the store.
    pub fn apply(&self, spool: &mut Spool, seconds: i64, creator: &[u8]) -> Result<(), Error> {
        let seconds = u64::try_from(seconds).unwrap_or(0);
        let creations = self.added.iter().map(|(group, _)| GroupCreation {
            group,
            seconds,
            creator,
        });
        let removed = || self.removed.iter().map(Vec::as_slice);
        let described = self
            .described
            .iter()
            .map(|(group, text)| (group.as_slice(), Some(text.as_slice())));
        let edits = GroupEdits {
            descriptions: described
                .chain(removed().map(|group| (group, None)))
                .collect(),
            creations: creations.collect(),
            removed: removed().collect(),
        };
        spool.edit_groups(&edits)?;
        let set: Vec<(&[u8], Flag<'_>)> = self
            .added
            .iter()
            .chain(&self.flagged)
            .map(|(group, moderated)| {
                let flag = if *moderated {
                    Flag::Moderated
                } else {
                    Flag::Open
                };
                (group.as_slice(), flag)
            })
            .collect();
        spool.set_groups(&set)?;
        for group in removed() {
            spool.remove_group(group)?;
        }
        Ok(())
    }
}

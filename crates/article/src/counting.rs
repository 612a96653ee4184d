//! The inner loop of the pass over text in wire form. [`simd`](crate::simd) chooses the instructions.

use crate::scan::{BLOCK, Marks, first_block, has_byte};

/// The state of a pass over text in wire form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counting {
    /// Offset of the next byte.
    pub(crate) at: usize,
    /// No more bytes will come, and no terminator.
    pub(crate) is_whole: bool,
    /// Number of LFs before it.
    pub(crate) line_feeds: usize,
    /// Number of LFs after a CR.
    pub(crate) line_ends: usize,
    /// Number of lines that begin with a doubled dot.
    pub(crate) doubled_dots: usize,
    /// A NUL was found.
    pub(crate) has_nul: bool,
    /// As in [`WireFacts`](crate::wire_facts::WireFacts).
    pub(crate) has_hidden_end: bool,
}

impl Counting {
    /// Goes on up to the terminator, and returns its offset, or up to the end of the bytes. `marks` is [`scan::marks`](crate::scan::marks),
    /// or does the same with other instructions.
    #[inline(always)]
    pub(crate) fn go_on(
        &mut self,
        bytes: &[u8],
        marks: impl Fn(&[u8; BLOCK]) -> Marks,
    ) -> Option<usize> {
        let last = bytes.get(..self.at).unwrap_or_default().last();
        let mut after_return = u64::from(last == Some(&b'\r'));
        let mut after_feed = u64::from(last.is_none_or(|byte| *byte == b'\n'));
        loop {
            let mut rest = bytes.get(self.at..).unwrap_or_default();
            let (mut line_feeds, mut line_ends, mut nuls) = (0, 0, 0);
            // Nearly all blocks are whole, and no line in them begins with a dot.
            while let Some(block) = rest.first_chunk::<BLOCK>() {
                let marks = marks(block);
                if marks.dots & (marks.feeds << 1 | after_feed) != 0 {
                    break;
                }
                line_feeds += marks.feeds.count_ones() as usize;
                let ends = marks.feeds & (marks.returns << 1 | after_return);
                line_ends += ends.count_ones() as usize;
                nuls |= marks.nuls;
                after_return = marks.returns >> (BLOCK - 1);
                after_feed = marks.feeds >> (BLOCK - 1);
                rest = rest.get(BLOCK..).unwrap_or_default();
            }
            self.at = bytes.len().max(self.at) - rest.len();
            self.line_feeds += line_feeds;
            self.line_ends += line_ends;
            self.has_nul |= nuls != 0;
            let block = rest.get(..BLOCK).unwrap_or(rest);
            let marks = marks(&first_block(block));
            let dots = marks.dots & (marks.feeds << 1 | after_feed);
            let counted = self.judge(bytes, dots).unwrap_or(block.len());
            let within = u64::MAX.checked_shr((BLOCK - counted) as u32).unwrap_or(0);
            let feeds = marks.feeds & within;
            let ends = feeds & (marks.returns << 1 | after_return);
            self.line_feeds += feeds.count_ones() as usize;
            self.line_ends += ends.count_ones() as usize;
            self.has_nul |= has_byte(block.get(..counted).unwrap_or_default(), 0);
            self.at += counted;
            if counted < BLOCK {
                let rest = bytes.get(self.at..).unwrap_or_default();
                // Before a dot that does not end the article its next bytes are missing.
                return rest.starts_with(b".\r\n").then_some(self.at);
            }
            after_return = marks.returns >> (BLOCK - 1);
            after_feed = marks.feeds >> (BLOCK - 1);
        }
    }

    /// Judges the dots of a block that follow an LF. Returns the place of a dot that ends the article, or whose next bytes are missing.
    fn judge(&mut self, bytes: &[u8], mut dots: u64) -> Option<usize> {
        while dots != 0 {
            let place = dots.trailing_zeros() as usize;
            dots &= dots - 1;
            let (before, after) = bytes.split_at_checked(self.at + place)?;
            let begins_line = before.is_empty() || before.ends_with(b"\r\n");
            match after {
                [_] | [_, b'\r'] if !self.is_whole => return Some(place),
                [_, b'\r', b'\n', ..] if !self.is_whole && begins_line => return Some(place),
                [_, b'.', ..] if begins_line => self.doubled_dots += 1,
                _ => {}
            }
            self.has_hidden_end |= !begins_line || after.get(1) == Some(&b'\n');
        }
        None
    }
}

//! The records that wait for a commit, laid so in memory that most of them can go to the disk past the
//! page cache: an address and its offset in the file agree in their lower 12 bits.

use crate::io::disk::BLOCK_BYTES;
use crate::log::record::{self, Commit, HEADER_BYTES, Kind, Lengths};

/// From so many bytes on, whole blocks are written out ahead of the commit: the buffer stays in the processor's cache
/// and small, however large the commit.
pub const SPILL_BYTES: usize = 1 << 20;
/// Set aside for the buffer, bytes: what is spilled at once and an ordinary article. Only what is used is ever touched.
const RESERVE_BYTES: usize = 3 << 19;

/// The buffer.
#[derive(Debug, Default)]
pub struct Pending {
    buffer: Vec<u8>,
    /// Bytes at the start of the buffer that are not used, for the alignment.
    lead: usize,
    /// Bytes of this commit that were written out already.
    spilled: u64,
}

impl Pending {
    /// Empties the buffer; its next byte will lie at `end` in the file.
    pub fn restart(&mut self, end: u64) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve(RESERVE_BYTES);
        }
        let wanted = (end % BLOCK_BYTES as u64) as usize;
        let have = self.buffer.as_ptr() as usize % BLOCK_BYTES;
        self.lead = (wanted + BLOCK_BYTES - have) % BLOCK_BYTES;
        self.buffer.clear();
        self.buffer.resize(self.lead, 0);
        self.spilled = 0;
    }

    /// Bytes of this commit that were written out already; the others follow them in the file.
    pub fn spilled(&self) -> u64 {
        self.spilled
    }

    /// How many bytes of the records, which begin at `from` in the file, are whole blocks.
    pub fn block_bytes(&self, from: u64) -> usize {
        self.len() - ((from + self.len() as u64) % BLOCK_BYTES as u64) as usize
    }

    /// The first `length` bytes of the records are in the file now, up to a block boundary.
    pub fn drop_written(&mut self, length: usize) {
        self.spilled += length as u64;
        let rest = self.lead + length..self.buffer.len();
        let kept = rest.len();
        let have = self.buffer.as_ptr() as usize % BLOCK_BYTES;
        let lead = (BLOCK_BYTES - have) % BLOCK_BYTES;
        // Never beyond the records: whole blocks lie in front of the rest.
        self.buffer.copy_within(rest, lead.min(self.lead + length));
        self.lead = lead.min(self.lead + length);
        self.buffer.truncate(self.lead + kept);
    }

    /// The records.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.lead..).unwrap_or_default()
    }

    /// Bytes of the records.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.lead
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where records are appended.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Where the commit would begin in the buffer if nothing of it had been written out: may lie before its
    /// beginning, so it only makes sense in wrapping differences.
    pub fn commit_start(&self) -> usize {
        self.lead.wrapping_sub(self.spilled as usize)
    }

    /// The piece of the buffer that a record was laid in.
    pub fn piece(&self, start: usize, length: usize) -> &[u8] {
        self.buffer.get(start..start + length).unwrap_or_default()
    }

    /// Adds a pad record, so that the commit ends with a block of the file; the records begin at `end` in it.
    pub fn pad(&mut self, end: u64, commit_sequence: u64) {
        let over = ((end + self.len() as u64) % BLOCK_BYTES as u64) as usize;
        let mut room = (BLOCK_BYTES - over) % BLOCK_BYTES;
        if room == 0 {
            return;
        }
        if room < HEADER_BYTES {
            room += BLOCK_BYTES;
        }
        let commit = Commit {
            commit_sequence,
            start: self.commit_start(),
        };
        let start = record::begin(&mut self.buffer);
        self.buffer.resize(start + room, 0);
        record::finish(
            &mut self.buffer,
            start,
            Kind::Pad,
            commit,
            Lengths::default(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::append_file::split_at_block;
    use crate::log::record::Record;

    #[test]
    fn a_padded_commit_is_whole_blocks_behind_its_head() {
        for end in [64u64, 4096, 4097 * 8, 8192 - 8, 100_000] {
            let mut pending = Pending::default();
            pending.restart(end);
            let start = pending.commit_start();
            record::push_text(
                pending.out(),
                Kind::Seen,
                Commit {
                    commit_sequence: 1,
                    start,
                },
                &[b'x'; 9000],
            );
            let text = pending.len();
            pending.pad(end, 1);
            assert!(
                (end as usize + pending.len()).is_multiple_of(BLOCK_BYTES),
                "{end}"
            );
            let bytes = pending.bytes();
            if bytes.len() > text {
                assert_eq!(Record::parse(&bytes[text..]).unwrap().head.kind, Kind::Pad);
            }
            let (head, rest) = split_at_block(bytes, end).unwrap();
            assert_eq!(head.len() + rest.len(), bytes.len());
        }
    }
}

//! Blocks of zeros, which need no space on the disk.

/// A file system keeps a hole for a whole block of zeros that nobody writes, bytes.
const BLOCK_BYTES: usize = 4096;

/// The parts of `bytes` between whole blocks of zeros, each with its offset: a file needs only these written, at an offset that is a multiple
/// of the block.
pub fn parts_without_zeros(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut blocks = bytes.chunks(BLOCK_BYTES).map(is_zero).peekable();
    let mut at = 0;
    std::iter::from_fn(move || {
        while blocks.next_if_eq(&true).is_some() {
            at += BLOCK_BYTES;
        }
        let start = at;
        while blocks.next_if_eq(&false).is_some() {
            at += BLOCK_BYTES;
        }
        let part = bytes.get(start..at.min(bytes.len()))?;
        (!part.is_empty()).then_some((start, part))
    })
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_blocks_of_zeros_are_left_out() {
        let parts = |bytes: &[u8]| -> Vec<(usize, usize)> {
            parts_without_zeros(bytes)
                .map(|(at, part)| (at, part.len()))
                .collect()
        };
        assert!(parts(b"").is_empty());
        assert!(parts(&[0; 10_000]).is_empty());
        assert_eq!(parts(&[1; 10_000]), [(0, 10_000)]);
        let mut bytes = vec![0; 5 * BLOCK_BYTES + 7];
        for at in [100, BLOCK_BYTES, 3 * BLOCK_BYTES - 1, 5 * BLOCK_BYTES + 6] {
            bytes[at] = 1;
        }
        assert_eq!(parts(&bytes), [(0, 3 * BLOCK_BYTES), (5 * BLOCK_BYTES, 7)]);
    }
}

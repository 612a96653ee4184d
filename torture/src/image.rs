//! The contents of a block device, in memory, in layers: a layer hides those below it.

use std::collections::HashMap;

/// Unit of storage and of copying, bytes.
const BLOCK_BYTES: u64 = 4096;

type Block = Box<[u8; BLOCK_BYTES as usize]>;

/// Blocks by number. An absent block is transparent.
#[derive(Clone, Debug, Default)]
pub struct Layer(HashMap<u64, Block>);

/// A block device of layers. Writes go to the top layer; a block in no layer reads as zeros.
#[derive(Clone, Debug)]
pub struct Image {
    layers: Vec<Layer>,
}

impl Default for Image {
    fn default() -> Self {
        Image {
            layers: vec![Layer::default()],
        }
    }
}

/// Splits `length` bytes from `offset` at block boundaries: block number, offset within it, length.
fn block_ranges(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (block, within) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
        let length = (BLOCK_BYTES - within).min(end - at);
        at += length;
        Some((block, within as usize, length as usize))
    })
}

impl Image {
    fn block(&self, number: u64) -> Option<&Block> {
        self.layers
            .iter()
            .rev()
            .find_map(|layer| layer.0.get(&number))
    }

    /// Reads from `offset` into `buffer`.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) {
        let mut rest = buffer;
        for (number, within, length) in block_ranges(offset, rest.len() as u64) {
            let Some((part, behind)) = rest.split_at_mut_checked(length) else {
                return;
            };
            match self
                .block(number)
                .and_then(|block| block.get(within..within + length))
            {
                Some(bytes) => part.copy_from_slice(bytes),
                None => part.fill(0),
            }
            rest = behind;
        }
    }

    /// Writes `bytes` at `offset` into the top layer.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for (number, within, length) in block_ranges(offset, bytes.len() as u64) {
            let Some((part, behind)) = rest.split_at_checked(length) else {
                return;
            };
            self.change(number, within, length, |to| to.copy_from_slice(part));
            rest = behind;
        }
    }

    /// Writes zeros into the top layer.
    pub fn zero(&mut self, offset: u64, length: u64) {
        for (number, within, length) in block_ranges(offset, length) {
            self.change(number, within, length, |to| to.fill(0));
        }
    }

    fn change(&mut self, number: u64, within: usize, length: usize, with: impl FnOnce(&mut [u8])) {
        let below = match self.layers.last() {
            Some(top) if top.0.contains_key(&number) => None,
            _ => Some(self.block(number).cloned()),
        };
        let Some(top) = self.layers.last_mut() else {
            return;
        };
        let empty = || Box::new([0; BLOCK_BYTES as usize]);
        let block = top
            .0
            .entry(number)
            .or_insert_with(|| below.flatten().unwrap_or_else(empty));
        if let Some(part) = block.get_mut(within..within + length) {
            with(part);
        }
    }

    /// Adds an empty layer at the top.
    pub fn push_layer(&mut self) {
        self.layers.push(Layer::default());
    }

    /// Removes all layers but the lowest `keep`.
    pub fn keep_layers(&mut self, keep: usize) {
        self.layers.truncate(keep.max(1));
    }

    /// Finds the offsets of `needle` in all written blocks, also across two blocks.
    pub fn find(&self, needle: &[u8]) -> Vec<u64> {
        let mut numbers: Vec<u64> = self
            .layers
            .iter()
            .flat_map(|layer| layer.0.keys().copied())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut found = Vec::new();
        let mut buffer = vec![0; BLOCK_BYTES as usize + needle.len().saturating_sub(1)];
        for number in numbers {
            let start = number * BLOCK_BYTES;
            self.read(start, &mut buffer);
            let indexes = buffer.windows(needle.len().max(1)).enumerate();
            let indexes = indexes.filter(|(_, window)| *window == needle);
            found.extend(indexes.map(|(index, _)| start + index as u64));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn layers_hide_and_come_off() {
        let mut image = Image::default();
        image.write(4090, b"0123456789abcdef");
        image.push_layer();
        image.write(4095, b"XYZ");
        image.zero(4104, 2);
        let mut bytes = [0; 18];
        image.read(4089, &mut bytes);
        assert_eq!(&bytes, b"\x0001234XYZ89abcd\0\0\0");
        image.keep_layers(1);
        image.read(4089, &mut bytes);
        assert_eq!(&bytes, b"\x000123456789abcdef\0");
    }

    #[test]
    fn a_needle_across_blocks_is_found() {
        let mut image = Image::default();
        image.write(2 * 4096 - 3, b"needle");
        assert_eq!(image.find(b"needle"), [2 * 4096 - 3]);
    }
}

//! The names of objects: `segments/BASE-CHECKSUM.art`.

use std::num::NonZeroU64;

use sha2::{Digest, Sha256};

/// The name of an object below the site's prefix. It has no characters but letters, digits, `/`, `-` and `.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The base of its segment.
    pub base: u64,
    /// The first 64 bits of the SHA-256 of its bytes.
    pub sum: NonZeroU64,
}

impl ObjectName {
    /// Reads a name. `None`: it is not one.
    pub fn parse(text: &str) -> Option<ObjectName> {
        let name = text.strip_prefix("segments/")?.strip_suffix(".art")?;
        let (base, sum) = name.split_once('-')?;
        let base = Some(base).filter(|base| base.bytes().all(|byte| byte.is_ascii_digit()))?;
        let name = ObjectName {
            base: base.parse().ok()?,
            sum: NonZeroU64::new(u64::from_str_radix(sum, 16).ok()?)?,
        };
        (name.to_string() == text).then_some(name)
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "segments/{:020}-{:016x}.art", self.base, self.sum)
    }
}

/// The checksum in an object's name, computed from its bytes in order.
#[derive(Default)]
pub struct Sum(Sha256);

impl Sum {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum.
    pub fn finish(self) -> NonZeroU64 {
        let digest = self.0.finalize();
        let first = digest.iter().take(8);
        let sum = first.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        NonZeroU64::new(sum).unwrap_or(NonZeroU64::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_read() {
        let mut sum = Sum::default();
        sum.add(b"abc");
        let name = ObjectName {
            base: 4096,
            sum: sum.finish(),
        };
        let text = name.to_string();
        assert_eq!(text, "segments/00000000000000004096-ba7816bf8f01cfea.art");
        assert_eq!(ObjectName::parse(&text), Some(name));
        for other in [
            "segments/4096-ba7816bf8f01cfea.art",
            "segments/../x.art",
            "",
        ] {
            assert_eq!(ObjectName::parse(other), None);
        }
    }
}

//! The headers that the news system itself reads.

use crate::scan::first_block;

/// Defines [`Header`]: one row per header, in the order of the enum.
macro_rules! headers {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// A header that the news system reads, usable as an index into a small table.
        ///
        /// The first [`Header::REQUIRED`] headers are required, in the order in
        /// which C News tests for them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Header {
            $($(#[$doc])* $variant,)*
        }

        impl Header {
            /// Every known header, in the order of the enum.
            pub const ALL: &'static [Header] = &[$(Header::$variant,)*];

            /// The number of known headers; `header as usize` is below it.
            pub const COUNT: usize = Self::ALL.len();

            /// The usual spelling of the name, without the colon.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Header::$variant => $name,)*
                }
            }
        }
    };
}

headers! {
    /// `Message-ID`, required.
    MessageId "Message-ID",
    /// `Newsgroups`, required.
    Newsgroups "Newsgroups",
    /// `Path`, required.
    Path "Path",
    /// `Subject`, required.
    Subject "Subject",
    /// `Date`, required.
    Date "Date",
    /// `From`, required.
    From "From",
    /// `References`: the ids of the articles that this one follows up.
    References "References",
    /// `Approved`: the moderator who approved the article.
    Approved "Approved",
    /// `Sender`.
    Sender "Sender",
    /// `Control`: the article is a control message.
    Control "Control",
    /// `Also-Control`: an ordinary article that is a control message too.
    AlsoControl "Also-Control",
    /// `Supersedes`: the id of the article to be cancelled by this one.
    Supersedes "Supersedes",
    /// `Distribution`.
    Distribution "Distribution",
    /// `Injection-Date`: when the injecting agent took the article (RFC 5536, 3.2.7).
    InjectionDate "Injection-Date",
    /// `Expires`: the explicit expiry date.
    Expires "Expires",
    /// `Xref`: where another site filed the article.
    Xref "Xref",
    /// `Lines`, as counted by the poster's site; never corrected.
    Lines "Lines",
    /// `Article-I.D.`, the id of B News before RFC 850.
    ArticleId "Article-I.D.",
    /// `Posted`, the date of B News before RFC 850.
    Posted "Posted",
    /// `Title`, the subject of B News before RFC 850.
    Title "Title",
    /// `Relay-Version` of B News.
    RelayVersion "Relay-Version",
    /// `Posting-Version` of B News.
    PostingVersion "Posting-Version",
    /// `Received` of B News before RFC 850.
    Received "Received",
    /// `Date-Received` of B News.
    DateReceived "Date-Received",
    /// `Followup-To`.
    FollowupTo "Followup-To",
    /// `Reply-To`.
    ReplyTo "Reply-To",
    /// `Organization`.
    Organization "Organization",
}

impl Header {
    /// Number of required headers; they come first in the enum.
    pub const REQUIRED: usize = 6;

    /// Number of headers whose first occurrence counts if they are repeated; they come first in the enum. The required ones, and
    /// References, which OVER shows (RFC 3977, 8.3.2 with erratum 2311).
    pub(crate) const FIRST_COUNTS: usize = Self::REQUIRED + 1;

    /// Whether an article without this header is refused (RFC 1036, 2.1).
    #[inline]
    pub const fn is_required(self) -> bool {
        (self as usize) < Self::REQUIRED
    }

    /// Returns the known header with this name (without colon, in any case).
    pub fn from_name(name: &[u8]) -> Option<Header> {
        Self::from_key(Key::exact(&first_block(name), name.len()))
    }

    /// Returns the known header with this key: one table look-up, one comparison.
    #[inline]
    pub(crate) fn from_key(key: Key) -> Option<Header> {
        let slot = SLOTS.get(key.slot())?;
        (slot.key == key).then_some(slot.header)
    }
}

/// Mask of the bytes of a key that belong to the name, by the length of the name.
/// A table look-up is faster than a shift of this width.
static MASKS: [u128; 16] = {
    let mut masks = [0u128; 16];
    let mut mask = 0u128;
    let mut rest: &mut [u128] = &mut masks;
    while let [here, tail @ ..] = rest {
        *here = mask;
        mask = mask << 8 | 0xff;
        rest = tail;
    }
    masks
};

/// A name of at most 15 bytes in lower case, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    /// No name has this key.
    const NONE: Key = Key(u128::MAX);

    /// The bit that distinguishes `A` from `a`, in every byte.
    ///
    /// Setting this bit is exact for names that contain no control characters: in their other bytes it is set already.
    const FOLD: u128 = u128::from_le_bytes([0x20; 16]);

    /// Returns the key of the first `len` bytes; zero, which no known name has, if no known name has this length.
    #[inline]
    pub(crate) fn of(bytes: &[u8; 16], len: usize) -> Key {
        let mask = MASKS.get(len).copied().unwrap_or_default();
        Key((u128::from_le_bytes(*bytes) | Self::FOLD) & mask)
    }

    /// Returns the key as [`Key::of`] does, but zero if the bytes contain a control character: `of` takes CR for a hyphen.
    #[inline]
    pub(crate) fn exact(bytes: &[u8; 16], len: usize) -> Key {
        let fold = Self::FOLD & MASKS.get(len).copied().unwrap_or_default();
        let bits = u128::from_le_bytes(*bytes);
        // A printable character has the bit 0x20 or the bit 0x40.
        if (bits | bits >> 1) & fold != fold {
            return Key(0);
        }
        Key::of(bytes, len)
    }

    /// Returns the key of a known name, at compile time.
    pub(crate) const fn of_known(name: &str) -> Key {
        let mut rest = name.as_bytes();
        let mut key = 0;
        let mut shift = 0;
        while let [first, tail @ ..] = rest {
            key |= ((*first | 0x20) as u128) << shift;
            shift += 8;
            rest = tail;
        }
        Key(key)
    }

    /// The slot of a key in [`SLOTS`]. A unit test checks that no two known names collide.
    ///
    /// The factor was found by trial; a new header may need another one.
    #[inline]
    const fn slot(self) -> usize {
        ((self.0 as u64).wrapping_mul(0x5304_aebc_ab27_1b59) >> (64 - SLOT_BITS)) as usize
    }
}

const SLOT_BITS: u32 = 6;

#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    header: Header,
}

/// The known headers by [`Key::slot`].
static SLOTS: [Slot; 1 << SLOT_BITS] = {
    let mut slots = [Slot {
        key: Key::NONE,
        header: Header::MessageId,
    }; 1 << SLOT_BITS];
    let mut rest: &mut [Slot] = &mut slots;
    let mut index = 0;
    while let [slot, tail @ ..] = rest {
        let mut headers = Header::ALL;
        while let [header, others @ ..] = headers {
            let key = Key::of_known(header.name());
            if key.slot() == index {
                *slot = Slot {
                    key,
                    header: *header,
                };
            }
            headers = others;
        }
        index += 1;
        rest = tail;
    }
    slots
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case() {
        for &header in Header::ALL {
            let name = header.name();
            assert_eq!(Header::from_name(name.as_bytes()), Some(header));
            assert_eq!(
                Header::from_name(name.to_uppercase().as_bytes()),
                Some(header)
            );
            assert_eq!(
                Header::from_name(name.to_lowercase().as_bytes()),
                Some(header)
            );
            let longer = format!("{name}x");
            assert_eq!(Header::from_name(longer.as_bytes()), None);
            let shorter = &name[..name.len() - 1];
            assert_eq!(Header::from_name(shorter.as_bytes()), None);
        }
        assert_eq!(Header::from_name(b""), None);
        assert_eq!(Header::from_name(b"Received-SPF"), None);
        assert_eq!(Header::from_name(b"Message_ID"), None);
        assert_eq!(Header::from_name(b"Message\rID"), None);
    }

    #[test]
    fn the_table_is_indexed_by_the_enum() {
        for (index, &header) in Header::ALL.iter().enumerate() {
            assert_eq!(header as usize, index);
        }
        let required: Vec<_> = Header::ALL
            .iter()
            .filter(|h| h.is_required())
            .map(|h| h.name())
            .collect();
        assert_eq!(
            required,
            [
                "Message-ID",
                "Newsgroups",
                "Path",
                "Subject",
                "Date",
                "From"
            ]
        );
    }
}

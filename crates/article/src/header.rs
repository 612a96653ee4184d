//! The headers that the news system itself looks at.

/// Defines [`Header`]: one row a header, in the order of the enum.
macro_rules! headers {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// A header that the news system looks at, as an index into a small table.
        ///
        /// The first [`Header::REQUIRED`] are the required ones, in the order in
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

            /// The known header whose name begins like `key` (see [`key`]).
            ///
            /// No two known names share a key, so one comparison of the rest of
            /// the name settles it.
            // The constants bear the names of the variants.
            #[allow(non_upper_case_globals)]
            #[inline]
            fn by_key(key: u64) -> Option<Header> {
                $(
                    const $variant: u64 = key_of($name);
                )*
                match key {
                    $($variant => Some(Header::$variant),)*
                    _ => None,
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
    /// `Approved`: the moderator who let the article through.
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
    /// `Expires`: the explicit expiry date.
    Expires "Expires",
    /// `Xref`: where another site filed the article.
    Xref "Xref",
    /// `Lines`, as the poster's site counted them; never corrected.
    Lines "Lines",
    /// `References`: the ids of the articles that this one answers.
    References "References",
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
    /// How many headers are required; they come first in the enum.
    pub const REQUIRED: usize = 6;

    /// Whether an article without this header is refused (RFC 1036, 2.1).
    #[inline]
    pub const fn is_required(self) -> bool {
        (self as usize) < Self::REQUIRED
    }

    /// The known header of this name, without colon, in any case.
    pub fn from_name(name: &[u8]) -> Option<Header> {
        Self::from_word(key(name), name)
    }

    /// [`Header::from_name`] where the caller has the key at hand.
    #[inline]
    pub(crate) fn from_word(key: u64, name: &[u8]) -> Option<Header> {
        let header = Self::by_key(key)?;
        let known = header.name().as_bytes();
        if name.len() <= 8 {
            // The key holds the whole name; NUL never occurs in a name.
            return (name.len() == known.len()).then_some(header);
        }
        let same = name.get(8..)?.eq_ignore_ascii_case(known.get(8..)?);
        same.then_some(header)
    }
}

/// Sets the bit that tells `A` from `a` in every byte.
///
/// This is exact for names: the bytes of a known name other than letters have the
/// bit set already, and what they could be mistaken for are control characters,
/// which a name cannot hold.
pub(crate) const FOLD: u64 = u64::from_le_bytes([0x20; 8]);

/// The first eight bytes of a name, folded, zeros where it is shorter.
fn key(name: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    for (to, from) in word.iter_mut().zip(name) {
        *to = from | 0x20;
    }
    u64::from_le_bytes(word)
}

/// [`key`] at compile time.
const fn key_of(name: &str) -> u64 {
    let mut rest = name.as_bytes();
    let mut key = 0u64;
    let mut shift = 0;
    while let [first, tail @ ..] = rest {
        if shift == 64 {
            break;
        }
        key |= ((*first | 0x20) as u64) << shift;
        shift += 8;
        rest = tail;
    }
    key
}

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

//! The Message-ID and the Path of an article, without parsing the rest of its header: enough to refuse a duplicate.

use crate::Header;
use crate::header::Key;
use crate::parse::{is_space, plain_value};
use crate::scan::{BLOCK, LineFeeds, first_block};
use crate::simd;

/// The values of two headers, as [`crate::Article::value`] returns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The value of Message-ID; not checked.
    pub id: &'a [u8],
    /// The value of Path.
    pub path: &'a [u8],
}

impl<'a> Identity<'a> {
    /// Reads the lines of a header in native form as far as both values are found. `None` if one of them is absent or is not
    /// written as usual: one blank after the colon, none at the end, no continuation line.
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Option<Identity<'a>> {
        simd::identity(bytes)
    }

    /// Does what [`Identity::of`] says. `line_feeds` is [`crate::scan::line_feeds`], or does the same with other instructions.
    #[inline(always)]
    pub(crate) fn find(
        bytes: &'a [u8],
        line_feeds: impl Fn(&[u8; BLOCK]) -> u64,
    ) -> Option<Identity<'a>> {
        let (mut id, mut path) = (None, None);
        let mut start = 0;
        for feed in LineFeeds::new(bytes, line_feeds) {
            let rest = bytes.get(start..)?;
            let wanted = match rest.first()? {
                b'M' | b'm' if id.is_none() => Header::MessageId,
                b'P' | b'p' if path.is_none() => Header::Path,
                b'\n' => return None,
                _ => {
                    start = feed + 1;
                    continue;
                }
            };
            if let Some(raw) = after_name(rest, wanted) {
                let value =
                    plain_value(raw.get(..(feed + 1).checked_sub(bytes.len() - raw.len())?)?)?;
                if bytes
                    .get(feed + 1)
                    .is_none_or(|next| is_space(*next) && *next != b'\n')
                {
                    return None;
                }
                match wanted {
                    Header::MessageId => id = Some(value),
                    _ => path = Some(value),
                }
                if let (Some(id), Some(path)) = (id, path) {
                    return Some(Identity { id, path });
                }
            }
            start = feed + 1;
        }
        None
    }
}

/// Returns the text behind the colon of a line that begins with this name.
#[inline(always)]
fn after_name(line: &[u8], header: Header) -> Option<&[u8]> {
    let length = header.name().len();
    let after = line.get(length..)?.strip_prefix(b":")?;
    (Key::exact(&first_block(line), length) == Key::of_known(header.name())).then_some(after)
}

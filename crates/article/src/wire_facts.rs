//! Facts about text in wire form that depend on every byte, found in one pass.

use crate::counting::Counting;
use crate::simd::count;

/// Numbers of lines in text in wire form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Number of LFs.
    pub line_feeds: usize,
    /// Number of LFs after a CR: only these end a line.
    pub line_ends: usize,
    /// Number of lines that begin with a doubled dot.
    pub doubled_dots: usize,
}

impl LineCounts {
    /// Counts the lines of a text without terminator.
    pub fn of(wire: &[u8]) -> LineCounts {
        WireFacts::of(wire).counts
    }

    /// The counts of the rest of a text behind a part of whole lines with these counts.
    pub fn after(self, part: LineCounts) -> LineCounts {
        LineCounts {
            line_feeds: self.line_feeds.saturating_sub(part.line_feeds),
            line_ends: self.line_ends.saturating_sub(part.line_ends),
            doubled_dots: self.doubled_dots.saturating_sub(part.doubled_dots),
        }
    }

    /// Length in native form of a text of `wire_length` bytes in wire form.
    pub fn native_length(self, wire_length: usize) -> usize {
        wire_length.saturating_sub(self.line_ends + self.doubled_dots)
    }
}

/// Facts about an article in wire form that depend on every byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireFacts {
    /// Its lines.
    pub counts: LineCounts,
    /// It contains a NUL.
    pub has_nul: bool,
    /// An LF without CR is before a dot, or after a dot that begins a line: a server for which every LF ends a line would see the end
    /// of the article elsewhere.
    pub has_hidden_end: bool,
}

impl WireFacts {
    /// The facts about a text without terminator.
    pub fn of(wire: &[u8]) -> WireFacts {
        let mut counting = Counting {
            is_whole: true,
            ..Counting::default()
        };
        count(&mut counting, wire);
        WireFacts::noted(&counting)
    }

    pub(crate) fn noted(counting: &Counting) -> WireFacts {
        WireFacts {
            counts: LineCounts {
                line_feeds: counting.line_feeds,
                line_ends: counting.line_ends,
                doubled_dots: counting.doubled_dots,
            },
            has_nul: counting.has_nul,
            has_hidden_end: counting.has_hidden_end,
        }
    }

    /// Whether other servers, which end lines at a CRLF only, would see other lines than this one: true if a bare LF is in the header
    /// (the first `header` bytes of the article), before a dot, or after a dot that begins a line. Elsewhere such an LF could end the
    /// article early, or add header fields that nobody has checked. RFC 5536, 2.2 and RFC 3977, 3.6 forbid it.
    pub fn has_hidden_lines(&self, wire: &[u8], header: usize) -> bool {
        let is_any_bare = self.counts.line_feeds != self.counts.line_ends;
        self.has_hidden_end || (is_any_bare && crate::wire::has_bare_line_feed(wire, header))
    }
}

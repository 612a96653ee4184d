//! The interface of the decoders.

/// Decodes one member of compressed data, piece by piece.
pub(super) trait Codec {
    /// Decodes from `input` into `out`. Input that is not consumed is passed again. `at_end` means that
    /// nothing follows `input`; a decoder that then makes no progress has truncated data.
    fn step(&mut self, input: &[u8], out: &mut [u8], at_end: bool) -> Progress;
}

/// The progress of a [`Codec::step`]. Produced bytes count even if the status is an error.
pub(super) struct Progress {
    pub(super) consumed: usize,
    pub(super) produced: usize,
    pub(super) status: CodecStatus,
}

/// The state of a decoder after a step.
pub(super) enum CodecStatus {
    Continue,
    /// The member is complete.
    Done,
    /// The data ended before these last bytes of the input, which are text of another program.
    DoneBefore(Vec<u8>),
    /// The member needs so many bytes of memory, more than its limit.
    NeedsMemory(u64),
    /// The input ended too early.
    Truncated,
    Damaged(String),
}

/// The progress of a library's counter, as a slice length.
pub(super) fn advance(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

//! What a decoder does.

/// Decodes one member of compressed data, piece by piece.
pub(super) trait Codec {
    /// Takes from `input`, gives into `out`. Input that is not used up is offered again. With
    /// `at_end` nothing follows `input`. Neither taking nor giving, with `at_end`, means torn data.
    fn step(&mut self, input: &[u8], out: &mut [u8], at_end: bool) -> Step;
}

/// What a [`Codec::step`] did. What was given counts even if the outcome is damage.
pub(super) struct Step {
    pub(super) taken: usize,
    pub(super) given: usize,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Going,
    /// The member is complete.
    Done,
    /// The input ended too early.
    Torn,
    Damaged(String),
}

/// How far a counter of a library went, as a slice length.
pub(super) fn advance(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

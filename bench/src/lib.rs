//! Batches made from a seed ([`generate`]), and the runner that times real
//! binaries with them. Tests of other crates may use the generator.

pub mod generate;

//! The generator of batches ([`generate`]), and the benches that measure real
//! binaries with them. Tests of other crates use the generator.

pub mod generate;

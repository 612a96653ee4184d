//! Benches that run the real binary.
fn main() {}

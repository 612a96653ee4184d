//! Decide and file: what C News called relaynews.
//!
//!

pub mod kept;
pub mod log;
pub mod rules;
pub mod tap;

pub use log::Now;
pub use rules::Rules;

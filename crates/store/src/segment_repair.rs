//! Repairs of single segments: derived files rebuilt from `.art`, and the articles that only history lines know.

pub(crate) mod derived_files;
pub(crate) mod lost_ends;
pub(crate) mod offloaded_header;

//! `broadsheet status`

use super::not_built;
use crate::flags::{Command, DIR, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["status"],
    also: &[],
    summary: "say how the news system does",
    about: "\
Articles, groups, segments, the newest arrival, batches waiting in in.coming/ and kept in bad/.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run: |given, _out| not_built(given),
};

//! The interface of what looks names up: the tree alone, or a mount.

use std::time::Duration;

use anyhow::Result;
use mount::Counters;

use super::day::Visit;

/// One way to look names up.
pub trait Way {
    /// `ls -l`: of one group in its directory, of several by their paths.
    fn list(&mut self, groups: &[String]) -> Result<()>;
    /// The look-ups of a visit to the group with this path.
    fn visit(&mut self, visit: &Visit, group: &str) -> Result<()>;
    /// The CPU time of the file system so far.
    fn cpu(&self) -> Result<Duration>;
    /// The counts so far.
    fn counters(&mut self) -> Result<Counters>;
}

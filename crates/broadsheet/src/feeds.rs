//! The sites that get news, as the commands see them: each name once, with its cursor.

use feed::roll::{self, Newcomer};
use feed::start::Start;
use groups::sys::Sys;
use store::Position;

use crate::directory::NewsDirectory;

/// The names of all sites but ourselves, each once, in the order of their lines.
pub fn names(sys: &Sys) -> Vec<&[u8]> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut met = std::collections::HashSet::new();
    for site in sys.sites().iter().filter(|site| !site.is_me) {
        if met.insert(site.name.as_slice()) {
            names.push(&site.name);
        }
    }
    names
}

const BEGINS: &str =
    "what is filed from now on is sent there (`broadsheet feed reset' to begin elsewhere)";

/// Gives every site that has none its cursor. Before anything is filed that may name it. `end`: where the log ends.
///
/// # Errors
/// The disk's, or a site that cannot have a directory.
pub fn enrol(directory: &NewsDirectory, sys: &Sys, end: Position) -> Result<(), feed::Error> {
    let names = names(sys);
    let newcomers: Vec<Newcomer<'_>> = names
        .iter()
        .map(|name| Newcomer {
            name,
            start: Start::Now,
        })
        .collect();
    let fresh = roll::enrol(directory.root(), end, &newcomers)?;
    let shown: Vec<_> = fresh.iter().map(|name| feed::place::shown(name)).collect();
    match shown.as_slice() {
        [] => {}
        [one] => eprintln!("broadsheet: {one} is a new site: {BEGINS}"),
        some => eprintln!("broadsheet: new sites: {}: {BEGINS}", some.join(", ")),
    }
    Ok(())
}

//! The policies of the rows, as explists.

/// Nothing goes.
pub const NOTHING: &str = "all x 30 -\n";

/// What is older than a day goes, in all groups.
pub const ONE: &str = "/expired/ x 14 -\nall x 1 -\n";

/// A fifth of the groups keep half a day, the others thirty. Taken are groups without others below them, because a
/// pattern takes those in too.
pub fn mixed(groups: &[String]) -> String {
    let is_leaf = |group: &&String| {
        let below = format!("{group}.");
        !groups.iter().any(|other| other.starts_with(&below))
    };
    let leaves: Vec<&String> = groups.iter().filter(is_leaf).collect();
    let wanted = groups.len() / 5;
    let short: String = leaves
        .iter()
        .step_by((leaves.len() / wanted.max(1)).max(1))
        .take(wanted)
        .map(|group| format!("{group} x 0.5 -\n"))
        .collect();
    format!("/expired/ x 14 -\n{short}all x 30 -\n")
}

//! The policies of the rows, as explists.

/// Removes nothing.
pub const NOTHING: &str = "all x 30 -\n";

/// Removes articles older than a day in all groups.
pub const ONE: &str = "/expired/ x 14 -\nall x 1 -\n";

/// A fifth of the groups keep half a day, the others thirty days. Only groups without groups below them are used, because a
/// pattern also matches those.
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

//! The flags that a group may have.

use groups::active::ALIAS_HOPS_MAX;
use groups::{Active, Flag};

/// Why a group may not get a flag; `None`: it may.
pub fn refusal(active: &Active, name: &[u8], flag: Flag<'_>) -> Option<String> {
    if name == relay::CONTROL && !takes_control_messages(flag) {
        return Some(NO_CONTROL.to_owned());
    }
    let why = "the alias names no existing group, or is a loop";
    (!leads_somewhere(active, name, flag)).then(|| format!("{}: {why}", groups::escaped(name)))
}

/// The fault of the group of control messages in a table.
pub fn fault_of_control(active: &Active) -> Option<&'static str> {
    let flag = active.flag(active.find(relay::CONTROL)?);
    (!takes_control_messages(flag)).then_some(NO_CONTROL)
}

const NO_CONTROL: &str = "the group control must have the flag y, n or m: all control messages are filed in it, cancels included (`broadsheet group set control n')";

fn takes_control_messages(flag: Flag<'_>) -> bool {
    matches!(flag, Flag::Open | Flag::NoPosting | Flag::Moderated)
}

/// Whether an alias leads to an existing group.
fn leads_somewhere(active: &Active, name: &[u8], flag: Flag<'_>) -> bool {
    let mut flag = flag;
    for _ in 0..ALIAS_HOPS_MAX {
        let Flag::Alias(target) = flag else {
            return true;
        };
        match active.find(target) {
            Some(group) if target != name => flag = active.flag(group),
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_alias_must_lead_to_a_group() {
        let active = Active::parse(b"a 0 1 y\nb 0 1 =a\nc 0 1 =d\nd 0 1 =c\n".to_vec()).unwrap();
        for (name, flag, expected) in [
            ("b", Flag::Open, true),
            ("x", Flag::Alias(b"a"), true),
            ("x", Flag::Alias(b"b"), true),
            ("a", Flag::Alias(b"b"), false),
            ("a", Flag::Alias(b"a"), false),
            ("x", Flag::Alias(b"none"), false),
            ("x", Flag::Alias(b"c"), false),
        ] {
            assert_eq!(
                refusal(&active, name.as_bytes(), flag).is_none(),
                expected,
                "{name} {flag:?}"
            );
        }
    }

    #[test]
    fn control_takes_articles() {
        let active = Active::parse(b"a 0 1 y\n".to_vec()).unwrap();
        for (flag, is_allowed) in [
            (Flag::Open, true),
            (Flag::NoPosting, true),
            (Flag::Moderated, true),
            (Flag::Excluded, false),
            (Flag::Junked, false),
            (Flag::Alias(b"a"), false),
        ] {
            let refused = refusal(&active, b"control", flag);
            assert_eq!(refused.is_none(), is_allowed, "{flag:?}");
        }
    }
}

//! The review of the descriptions of groups. The list may well be larger than that of the carried groups.

use groups::newsgroups::Newsgroups;
use settings::Finding;

use super::{Content, Context, Errors, counted, none_of};

/// `826 groups described, 3 of them not in active`.
pub fn review(on: &Context<'_>) -> Result<Content, Errors> {
    let text = on.read_file("newsgroups")?;
    let descriptions = Newsgroups::parse(text).map_err(|fault| fault.to_string())?;
    let errors: Vec<Finding> = descriptions
        .bad_lines()
        .iter()
        .map(|line| {
            Finding::error(format!(
                "newsgroups line {line}: must be `GROUP tab DESCRIPTION'"
            ))
        })
        .collect();
    let unlisted = descriptions.bad_line_count().saturating_sub(errors.len());
    none_of(errors, unlisted)?;
    let absent = descriptions
        .iter()
        .filter(|(group, _)| on.active.find(group).is_none())
        .count();
    let described = counted(descriptions.iter().count(), "group");
    Ok(Content::new(match absent {
        0 => format!("{described} described"),
        absent => format!("{described} described, {absent} of them not in active"),
    }))
}

//! The review of `active`.

use groups::active::{GroupId, READABLE_NUMBER_MAX};
use groups::{Active, Flag};
use settings::Finding;

use super::{Content, Context, Errors, none_of};
use crate::group_flag;

/// Groups without which nothing can be filed: control messages go to one, and accepted articles that belong nowhere to the other.
pub const NEEDED: &[&str] = &["control", "junk"];

/// The high mark above which [`numbers_too_high`] warns: 90 % of the numbers are given.
const NUMBER_WARNED: u64 = READABLE_NUMBER_MAX / 10 * 9;

/// The groups by their flags. It is read from the file again, for the text of its error.
pub fn review(on: &Context<'_>) -> Result<Content, Errors> {
    let text = on.read_file("active")?;
    let is_cut = text.last().is_some_and(|last| *last != b'\n');
    let active = Active::parse(text).map_err(|fault| fault.to_string())?;
    let mut errors = errors(&active);
    let listed = active.bad_lines().len();
    if (is_cut || active.bad_line_count() == 0)
        && let Err(error @ store::Error::Active { .. }) = store::check_active(on.root())
    {
        errors.push(Finding::error(error.to_string()));
    }
    none_of(errors, active.bad_line_count().saturating_sub(listed))?;
    let has_no_groups = !active.has_ordinary_groups() && !on.settings().junk;
    let no_groups = has_no_groups.then(|| {
        Finding::warning("every article is refused before there are more groups")
            .remedy(':', "add them (`broadsheet group add')")
    });
    let findings = no_groups.into_iter().chain(numbers_too_high(&active));
    Ok(Content::new(count_by_flag(&active)).with(findings))
}

/// Bad lines, groups that are missing, and aliases that lead nowhere.
fn errors(active: &Active) -> Vec<Finding> {
    let mut errors: Vec<Finding> = active
        .bad_lines()
        .iter()
        .map(|line| Finding::error(line.to_string()))
        .collect();
    for group in NEEDED {
        if active.find(group.as_bytes()).is_none() {
            errors.push(Finding::error(format!("active has no group `{group}'")));
        }
    }
    errors.extend(group_flag::fault_of_control(active).map(Finding::error));
    errors.extend(active.dangling_aliases().map(|alias| {
        let alias = groups::escaped(alias);
        Finding::error(format!(
            "group `{alias}' is an alias that leads to no group"
        ))
    }));
    errors
}

/// A warning of groups whose articles soon get numbers that no client has to understand (RFC 3977, 6): they are then refused.
fn numbers_too_high(active: &Active) -> Option<Finding> {
    let is_high = |id: &GroupId| active.high(*id) >= NUMBER_WARNED;
    let mut groups = active.ids().filter(is_high);
    let first = groups::escaped(active.name(groups.next()?));
    let more = match groups.count() {
        0 => String::new(),
        more => format!(" and {more} more groups"),
    };
    let finding = Finding::warning(format!(
        "the numbers in {first}{more} are above {NUMBER_WARNED}; {READABLE_NUMBER_MAX} is the highest that clients have to understand (RFC 3977, 6): \
         from there on articles are not filed"
    ));
    Some(finding.remedy(';', "give the group a successor in time"))
}

/// `826 groups: 805 y, 21 m`.
fn count_by_flag(active: &Active) -> String {
    let count = |letter: u8| {
        let flags = active.ids().map(|id| active.flag(id));
        flags
            .filter(|flag: &Flag<'_>| flag.letter() == letter)
            .count()
    };
    let counted: Vec<String> = b"ynmxj="
        .iter()
        .map(|letter| (count(*letter), char::from(*letter)))
        .filter(|(count, _)| *count > 0)
        .map(|(count, letter)| format!("{count} {letter}"))
        .collect();
    format!("{} groups: {}", active.len(), counted.join(", "))
}

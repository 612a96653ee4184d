//! The reviews of what expire goes by: explist or `[[expire]]`, and `[expiry]`.

use std::path::Path;

use daemon::reopens_at;
use expire::{Explist, Policy, Warning};
use groups::size as sizes;
use settings::Finding;

use super::{Content, Context, Errors, FINDINGS_SHOWN_MAX, NEEDED, counted};

/// The file: every group has to be covered; for a line that rules no group there is a note.
pub fn explist(on: &Context<'_>) -> Result<Content, Errors> {
    let text = on.read_file("explist")?;
    let archive = match &on.read.expiry {
        Ok(tables) if tables.rules.is_empty() => tables.archive_directory(),
        Ok(_) => return Ok(Content::new("not used: expire goes by [[expire]]")),
        // The settings have an error; any directory will do.
        Err(_) => Some(&b"/"[..]),
    };
    let list = Explist::parse(&text, "explist", archive).map_err(|fault| fault.to_string())?;
    policy(list, on, "")
}

/// The tables of expire in broadsheet.toml.
pub fn tables(on: &Context<'_>) -> Result<Content, Errors> {
    let tables = on.read.expiry.as_ref().map_err(ToString::to_string)?;
    if tables.rules.is_empty() {
        return Ok(Content::new("no [[expire]] rules: explist is used"));
    }
    let list = tables.explist(settings::FILE, None);
    let list = list.map_err(|fault| fault.to_string())?;
    policy(list, on, " of [[expire]]; explist is not used")
}

/// The number of rules, with the words `of` behind it, and the warnings.
fn policy(list: Explist, on: &Context<'_>, of: &str) -> Result<Content, Errors> {
    let file = list.file.clone();
    let (policy, warnings) =
        Policy::compile(list, &on.active).map_err(|fault| fault.to_string())?;
    // Before there are groups, every rule is idle.
    let is_fresh = on.active.len() <= NEEDED.len();
    let warnings = warnings.iter().filter(|_| !is_fresh).map(|warning| {
        let text = warning.to_string();
        match warning {
            Warning::Unused { .. } => Finding::note(text),
            Warning::Flat { .. } => Finding::warning(text),
        }
    });
    let archives = expire::archiving::check_archives(&policy, on.root());
    let returns = policy.returns(&file).into_iter().chain(archives);
    let returns = returns.map(Finding::warning);
    let summary = counted(policy.rules().len(), "rule") + of;
    Ok(Content::new(summary)
        .with(warnings.take(FINDINGS_SHOWN_MAX))
        .with(returns.take(FINDINGS_SHOWN_MAX)))
}

/// The values of `[expiry]`, which limit what expire removes. None: they have an error, which [`tables`] reports.
pub fn limits(on: &Context<'_>) -> Option<Content> {
    let tables = on.read.expiry.as_ref().ok()?;
    let space = &tables.space;
    let size = |bytes: Option<u64>| bytes.map_or("not set".to_owned(), sizes::bytes);
    let days = tables.expired.map(|life| life.to_string());
    let archive = tables.archive_directory.as_deref();
    let summary = format!(
        "keep_free = {}; max_size = {}; max_fraction = {}; dead_fraction = {}; expired_days = {}; archive_directory = {}",
        size(space.keep_free),
        size(space.max_size),
        space.max_fraction,
        space.dead_fraction,
        days.as_deref().unwrap_or("not set (/expired/ of explist)"),
        archive.map_or("not set".to_owned(), |path| format!("\"{path}\"")),
    );
    let intake_keeps_free = on.settings().nntp.keep_free;
    let keep_free = space.keep_free;
    let warning =
        keep_free.and_then(|free| unfit_keep_free(free, on.root(), reopens_at(intake_keeps_free)));
    Some(Content::new(summary).with(warning))
}

/// A warning of a keep_free that expire cannot reach, or that is less than what the intake needs to open, bytes.
fn unfit_keep_free(free: u64, root: &Path, intake_opens_at: u64) -> Option<Finding> {
    let disk = rustix::fs::statvfs(root.join("segments"));
    // A file system that reports no size has no known limit.
    let whole = disk.map_or(0, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
    if whole > 0 && free >= whole {
        return Some(Finding::warning(format!(
            "keep_free is not less than the whole file system ({}), so that no run can reach it: expire removes all articles that it may, or, if \
             these are more than max_fraction, those whose time has come",
            sizes::bytes(whole)
        )));
    }
    (free < intake_opens_at).then(|| {
        Finding::warning(format!(
            "keep_free is less than what the intake needs to open ({}: [nntp] keep_free and a sixteenth), so that a disk that is full \
             stays closed for articles after expire",
            sizes::bytes(intake_opens_at)
        ))
        .remedy(':', "raise it")
    })
}

//! The review of the sites: where each is written, how its articles travel, and what keeps them from it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use feed::serving::BATCHPARMS;
use feed::{Batchparms, enrolment, feeds, site_state};
use groups::matrix::DEFAULT_DISTRIBUTION;
use groups::sites::{BatchVia, Queue, Site, Start, To, Via};
use groups::{Active, CommandLine, Pattern, Sites, When};
use relay::{Now, program_file};
use rustix::fs::Access;
use settings::Finding;
use store::Snapshot;

use super::{Content, Context, Errors, Part, counted, none_of};
use crate::text;

/// Most sites that the text lists; of the others it has the number.
const SITES_SHOWN_MAX: usize = 100;

/// `3 sites to feed`, each with where it is written and how it travels: those of `sys` and of `[[site]]` together. An error stops rnews, and
/// the text is the one that rnews prints.
pub fn review(on: &Context<'_>) -> Result<Content, Errors> {
    let sites = read(on)?;
    let parms = Batchparms::read(&on.directory.file(BATCHPARMS));
    let parms = parms.map_err(|error| error.to_string())?;
    let feeds = sites.feeds();
    let mut errors: Vec<Finding> = feeds
        .flat_map(|(feed, site)| errors_of_site(on, &parms, feed, site))
        .collect();
    errors.extend(idle_pattern_of_me(&sites, &on.active));
    none_of(errors, 0)?;
    let count = sites.feeds().count();
    let summary = format!("{} to feed; {}", counted(count, "site"), accepted(&sites));
    let mut content = Content::new(summary).with(dists_of_me(&sites));
    // Those of a node of a cluster may be of another time.
    if !on.settings().is_node() {
        content = content.with(left_over(on.root(), &sites));
    }
    let listed = sites.feeds().take(SITES_SHOWN_MAX);
    content.parts = listed
        .map(|(feed, site)| part(on, &parms, feed, site))
        .collect();
    content.unlisted = count.saturating_sub(SITES_SHOWN_MAX);
    Ok(content)
}

/// The sites, as rnews reads them.
fn read(on: &Context<'_>) -> Result<Sites, Errors> {
    let settings = on.settings();
    // With tables no sys is needed.
    let needs_none = settings.sites != groups::Tables::default();
    let text = if needs_none && !on.directory.file(groups::sys::FILE).exists() {
        Vec::new()
    } else {
        on.read_file(groups::sys::FILE)?
    };
    let sites = Sites::read(&text, &settings.sites, settings.name.as_bytes())
        .map_err(|fault| fault.to_string())?
        .with_names(&on.directory.feed_names());
    on.directory
        .check_headers_only(settings, &sites)
        .map_err(|fault| fault.to_string())?;
    Ok(sites)
}

/// The groups that this site accepts, and the place where that is written.
fn accepted(sites: &Sites) -> String {
    match sites.subscription_place() {
        Some(place) if place.file == groups::sys::FILE => {
            "accepted groups: the line of ME".to_owned()
        }
        Some(place) => format!("accepted groups: accept ({place})"),
        None => "accepted groups: all (no line of ME, and accept is not set)".to_owned(),
    }
}

/// The reason why a site is not fed.
fn errors_of_site(on: &Context<'_>, parms: &Batchparms, feed: &[u8], site: &Site) -> Vec<Finding> {
    let mut errors = Vec::new();
    if let Via::Nntp(via) = &site.via
        && let Err(error) = feed::Remote::open(on.root(), &via.server)
    {
        errors.push(Finding::error(error.to_string()));
    }
    if let Via::Batch(via) = &site.via
        && let Err(error @ (feed::Error::SiteName(_) | feed::Error::NoHost { .. })) =
            parms.parms(&site.name, via, None)
    {
        let error = Finding::error(format!("no batch can be sent to it: {error}"));
        let remedy =
            "rename the site, and exclude its old name (`NAME/OLD' in sys, `exclude' in [[site]])";
        errors.push(error.remedy(';', remedy));
    }
    // With a start in the future, a new site begins as with `now'. Settings with it are read all the same: the clock may be wrong.
    if let Start::Date(start) = site.start
        // Days are those of UTC; east of it the next one has begun.
        && start > Now::read().seconds + 86_400
    {
        let error = Finding::error("start is in the future, so that it means \"now\"");
        errors.push(error.remedy(':', "write \"now\", or a day up to today"));
    }
    // The other nodes of a cluster have no use for their cursors.
    if !on.settings().is_node()
        && let Some(error) = no_cursor(on.root(), feed)
    {
        errors.push(Finding::error(error.to_string()));
    }
    let place = format!("{} ({})", feed.escape_ascii(), site.place);
    let errors = errors.into_iter();
    errors.map(|error| error.at(place.clone())).collect()
}

/// The line of a site, with its notes, then its warnings.
fn part(on: &Context<'_>, parms: &Batchparms, feed: &[u8], site: &Site) -> Part {
    let mut notes = Vec::new();
    let mut warnings = idle_patterns(site, &on.active);
    warnings.extend(will_not_work(on.root(), &site.via));
    notes.extend(made_later(&site.via).map(|made| {
        let made = made.display();
        Finding::note(format!(
            "the directory {made} does not exist, and will be made: is its disk mounted?"
        ))
    }));
    if let Via::Batch(via) = &site.via {
        let parms = parms.parms(&site.name, via, None);
        let to = parms.as_ref().ok().map(|parms| &parms.to);
        warnings.extend(not_sent(on, via, to));
        match parms {
            // Some write 0 on purpose, to keep a site from its batches.
            Ok(parms) if parms.queue == Queue::Batches(0) && !parms.is_off => {
                let idle = "its queue in batchparms is 0, so that it never gets a batch";
                warnings.push(Finding::warning(idle));
            }
            Ok(parms) => warnings.extend(cannot_arrive(on.root(), &parms.to)),
            Err(error) => notes.push(Finding::note(error.to_string())),
        }
    }
    let name = feed.escape_ascii().to_string();
    let warnings = warnings.into_iter();
    notes.extend(warnings.map(|warning| warning.at(name.clone())));
    Part {
        summary: format!("{name}: {} ({})", site.via.word(), site.place),
        findings: notes,
    }
}

/// An error of a site that accepts nothing: what it refuses, it remembers.
fn idle_pattern_of_me(sites: &Sites, active: &Active) -> Option<Finding> {
    let place = sites.subscription_place()?;
    let fault = matches_no_group(sites.subscription(), active)?;
    let text = format!("what this site accepts {fault}: every article is refused");
    Some(Finding::error(text).at(place.to_string()))
}

/// A warning of distributions that this site does not go by.
fn dists_of_me(sites: &Sites) -> Option<Finding> {
    let own = sites.sites().iter().find(|site| site.is_me)?;
    own.dists.is_some().then(|| {
        Finding::warning(
            "distributions of this site have no effect: articles of every distribution are accepted, as in C News",
        )
        .at(own.place.to_string())
    })
}

/// Why no article is for a site.
fn idle_patterns(site: &Site, active: &Active) -> Vec<Finding> {
    let mut warnings = Vec::new();
    // Those of batches of ihave and sendme subscribe to no group.
    let is_for_control = [&b".ihave"[..], b".sendme"]
        .iter()
        .any(|end| site.name.ends_with(end));
    if let Some(fault) = matches_no_group(&site.subs, active).filter(|_| !is_for_control) {
        let text = format!("its pattern of groups {fault}: it gets nothing");
        warnings.push(Finding::warning(text));
    }
    if site.dists.as_ref().is_some_and(Pattern::only_excludes) {
        let warning = Finding::warning(
            "its distributions only exclude, so they match none, and it gets nothing",
        );
        warnings.push(warning.remedy(':', "begin them with `all,'"));
    }
    if !is_for_control && site.dists.is_none() && !site.subs.matches(DEFAULT_DISTRIBUTION) {
        let warning = Finding::warning(
            "its line has no distributions, so that its groups stand for them, as in C News, and do not match articles without Distribution \
             (`world'): it gets next to nothing",
        );
        warnings.push(warning.remedy(';', "write `GROUPS/all'"));
    }
    warnings
}

fn matches_no_group(pattern: &Pattern, active: &Active) -> Option<String> {
    // Before there are groups, nothing matches.
    let is_idle =
        active.has_ordinary_groups() && !active.ids().any(|id| pattern.matches(active.name(id)));
    is_idle.then(|| "matches no group of active".to_owned())
}

/// Why the position of a site is unknown. A new site gets its cursor from whoever files or feeds next.
fn no_cursor(root: &Path, feed: &[u8]) -> Option<feed::Error> {
    match site_state::look(root, feed) {
        Ok(Some(_)) => None,
        Ok(None) => match enrolment::is_enrolled(root, feed) {
            Ok(true) => Some(feed::Error::NoCursor(groups::shown(feed))),
            Ok(false) => None,
            Err(error) => Some(error),
        },
        Err(error) => Some(error),
    }
}

/// Warns of feeds that are no longer sites, but for which articles wait. Feeds whose files cannot be read are left out.
fn left_over(root: &Path, sites: &Sites) -> Vec<Finding> {
    let left = feeds::left_over(root, sites).unwrap_or_default();
    if left.is_empty() {
        return Vec::new();
    }
    let Ok(snapshot) = Snapshot::open(root) else {
        return Vec::new();
    };
    let names = left.iter().map(Vec::as_slice);
    let (left, _) = feeds::backlogs(root, sites, &snapshot, names);
    let left = left.iter().filter(|feed| !feed.has_all());
    let warning = |feed: &feeds::FeedStatus<'_>| {
        let name = groups::shown(feed.name);
        let deferred = feed.look.deferred.len() as u64;
        let articles = text::counted(feed.backlog.articles + deferred, "article");
        let text =
            format!("{name} is no longer a site, but {articles} wait for it in feeds/{name}");
        Finding::warning(text).remedy(
            ':',
            "write the site again, or remove that directory; under another name, `broadsheet feed reset NAME --to DATE' sends what arrived since then",
        )
    };
    left.map(warning).take(SITES_SHOWN_MAX).collect()
}

/// Why articles of a site will not travel: a program or directory is missing.
fn will_not_work(root: &Path, via: &Via) -> Option<Finding> {
    let cannot_be_written = |path: &Path| {
        Finding::warning(format!(
            "{} cannot be written: this user cannot create files there",
            path.display()
        ))
    };
    match via {
        Via::Program { command, .. } | Via::Command(command) => {
            no_program(command, root).or_else(|| no_rights(command, root))
        }
        Via::FileList { path, .. } => {
            let path = root.join(path);
            (!can_be_made(&path)).then(|| cannot_be_written(&path))
        }
        Via::Tree { directory, .. } => {
            let directory = root.join(directory);
            (!can_be_made(&directory.join("x"))).then(|| cannot_be_written(&directory))
        }
        Via::News { directory } => {
            let directory = root.join(directory);
            (!store::is_news_directory(&directory)).then(|| {
                Finding::warning(format!("{} is not a news directory", directory.display()))
            })
        }
        _ => None,
    }
}

/// Why a command that the daemon starts cannot do its work. Batches can be sent by another program.
fn no_rights(command: &CommandLine, root: &Path) -> Option<Finding> {
    gains_rights(command, root).then(|| {
        Finding::warning(format!(
            "{} cannot gain its rights from a daemon under its systemd unit (NoNewPrivileges)",
            OsStr::from_bytes(command.program()).display()
        ))
        .remedy(
            ':',
            "send batches (`via = { batch = ... }') by `broadsheet sendbatches' from cron instead",
        )
    })
}

fn gains_rights(command: &CommandLine, root: &Path) -> bool {
    let place = program_file::find(OsStr::from_bytes(command.program()), root);
    place.is_some_and(|place| program_file::gains_rights(&place))
}

/// Why nothing sends the batches of a site by itself. A daemon under the systemd unit cannot run a uux, which is setuid.
fn not_sent(on: &Context<'_>, via: &BatchVia, to: Option<&To>) -> Option<Finding> {
    let setuid = match to {
        Some(To::Command(command)) if gains_rights(command, on.root()) => {
            Some(OsStr::from_bytes(command.program()).display())
        }
        _ => None,
    };
    let is_scheduled = via.schedule.is_some() || on.settings().schedule.sendbatches != When::Off;
    let Some(program) = setuid else {
        return (!is_scheduled).then(|| {
            Finding::warning("nothing sends its batches by itself").remedy(
                ':',
                "set sendbatches in [schedule], or a schedule in its via, or run `broadsheet sendbatches' from cron",
            )
        });
    };
    Some(if is_scheduled {
        Finding::warning(format!(
            "{program} cannot gain its rights from a daemon under its systemd unit (NoNewPrivileges)"
        ))
        .remedy(
            ':',
            "leave the schedule off, and run `broadsheet sendbatches' from cron",
        )
    } else {
        Finding::warning("nothing sends its batches by itself").remedy(':', format!(
            "run `broadsheet sendbatches' from cron (not by [schedule]: {program} cannot gain its rights from a daemon under its systemd unit, NoNewPrivileges)"
        ))
    })
}

/// The directory of a feed, if it does not exist. Those below the news directory are made with the first article.
fn made_later(via: &Via) -> Option<&Path> {
    let directory = match via {
        Via::FileList { path, .. } => path.parent()?,
        Via::Tree { directory, .. } => directory,
        _ => return None,
    };
    (directory.is_absolute() && !directory.exists()).then_some(directory)
}

/// Why batches cannot be delivered: their program or directory is missing.
fn cannot_arrive(root: &Path, to: &To) -> Option<Finding> {
    match to {
        To::Directory(place) => {
            let place = root.join(place);
            (!place.is_dir()).then(|| {
                Finding::warning(format!("the directory {} does not exist", place.display()))
            })
        }
        To::Command(command) => no_program(command, root),
    }
}

fn no_program(command: &CommandLine, root: &Path) -> Option<Finding> {
    let name = OsStr::from_bytes(command.program());
    let is_missing = program_file::find(name, root).is_none();
    is_missing.then(|| {
        Finding::warning(format!(
            "the program {} does not exist or is not executable",
            name.display()
        ))
    })
}

/// Whether this user can create a file, and the directories above it.
fn can_be_made(path: &Path) -> bool {
    let existing = path.ancestors().skip(1).find(|above| above.exists());
    existing
        .is_some_and(|above| above.is_dir() && rustix::fs::access(above, Access::WRITE_OK).is_ok())
}

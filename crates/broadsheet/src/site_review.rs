//! The findings of `broadsheet check` in the sites: where each is written, how its articles travel, and what keeps them from it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use daemon::FailingFeed;
use feed::serving::BATCHPARMS;
use feed::{enrolment, feeds, site_state};
use groups::matrix::DEFAULT_DISTRIBUTION;
use groups::sites::{BatchVia, Queue, Site, Start, To, Via};
use groups::{Active, CommandLine, Pattern, Sites, When};
use relay::program_file;
use rustix::fs::Access;
use settings::Settings;
use store::Snapshot;

use relay::Now;

use crate::control_file::{FAULTS_TOLD_MAX, counted, read, told_or_faults};
use crate::directory::NewsDirectory;
use crate::text;

/// Most sites that the text lists; of the others it has the number.
const SITES_TOLD_MAX: usize = 100;

/// The feeds that cannot be served. `None`: there are none, or the files cannot be read, which other findings report. On the other nodes of
/// a cluster the files are those of another time.
pub fn failing(directory: &NewsDirectory, settings: &Settings) -> Option<String> {
    let is_elsewhere = is_fed_elsewhere(directory, settings);
    let sites = directory.sys(settings).ok().filter(|_| !is_elsewhere)?;
    let snapshot = Snapshot::open(directory.root()).ok()?;
    let names = feeds::names(&sites);
    let failing = FailingFeed::all(directory.root(), &sites, &snapshot, &names);
    let mut text = counted(failing.len(), "failing feed");
    for feed in failing.iter().take(FAULTS_TOLD_MAX) {
        let (site, state, remedy) = (&feed.site, feed.state(), &feed.remedy);
        text.push_str(&format!("\n    warning: {site}: {state}; {remedy}"));
    }
    (!failing.is_empty()).then_some(text)
}

/// Whether another node of a cluster feeds the sites, or none does.
pub fn is_fed_elsewhere(directory: &NewsDirectory, settings: &Settings) -> bool {
    settings.is_node() && {
        let daemon = daemon::client::status(directory.root());
        let feeds = daemon.and_then(|daemon| daemon.status.cluster_feeds);
        feeds.is_none_or(|feeds| !feeds.is_here)
    }
}

/// `3 sites to send to`, each with where it is written and how it travels: those of `sys` and of `[[site]]`
/// together. A fault stops rnews, and the text is the one that rnews prints.
pub fn sites(
    directory: &NewsDirectory,
    settings: &Settings,
    active: &Active,
) -> Result<String, String> {
    let text = match read(directory, groups::sys::FILE) {
        // Whoever writes tables needs no sys.
        Err(_)
            if settings.sites != groups::Tables::default()
                && !directory.file(groups::sys::FILE).exists() =>
        {
            Vec::new()
        }
        read => read?,
    };
    let sites = Sites::read(&text, &settings.sites, settings.name.as_bytes())
        .map_err(|fault| fault.to_string())?
        .with_names(&directory.feed_names());
    directory
        .check_headers_only(settings, &sites)
        .map_err(|fault| fault.to_string())?;
    let taken = match sites.subscription_place() {
        Some(place) if place.file == groups::sys::FILE => {
            "accepted groups: the line of ME".to_owned()
        }
        Some(place) => format!("accepted groups: accept ({place})"),
        None => "accepted groups: all (no line of ME, and accept is not set)".to_owned(),
    };
    let feeds = sites.feeds().count();
    let parms =
        feed::Batchparms::read(&directory.file(BATCHPARMS)).map_err(|error| error.to_string())?;
    let mut told = format!("{} to feed; {taken}", counted(feeds, "site"));
    let mut faults = Vec::new();
    for (feed, site) in sites.feeds() {
        if let Via::Nntp(via) = &site.via
            && let Err(error) = feed::Remote::open(directory.root(), &via.server)
        {
            faults.push(format!("{} ({}): {error}", feed.escape_ascii(), site.place));
        }
        if let Via::Batch(via) = &site.via
            && let Err(error @ (feed::Error::SiteName(_) | feed::Error::NoHost { .. })) =
                parms.parms(&site.name, via, None)
        {
            faults.push(format!(
                "{} ({}): no batch can be sent to it: {error}; rename the site, and exclude its old name (`NAME/OLD' in sys, `exclude' in [[site]])",
                feed.escape_ascii(),
                site.place
            ));
        }
        // With a start in the future, a new site begins as with `now'. Settings with it are read all the same: the clock may be wrong.
        if let Start::Date(start) = site.start
            // Days are those of UTC; east of it the next one has begun.
            && start > Now::read().seconds + 86_400
        {
            faults.push(format!(
                "{} ({}): start is in the future, so that it means \"now\": write \"now\", or a day up to today",
                feed.escape_ascii(),
                site.place
            ));
        }
        // The other nodes of a cluster have no use for their cursors.
        if !settings.is_node()
            && let Some(error) = no_cursor(directory.root(), feed)
        {
            faults.push(format!("{} ({}): {error}", feed.escape_ascii(), site.place));
        }
    }
    faults.extend(idle_pattern_of_me(&sites, active));
    if !faults.is_empty() {
        return told_or_faults(faults, 0, String::new);
    }
    if let Some(warning) = dists_of_me(&sites) {
        told.push_str(&format!("\n    warning: {warning}"));
    }
    // Those of a node of a cluster may be of another time.
    if !settings.is_node() {
        for warning in left_over(directory.root(), &sites) {
            told.push_str(&format!("\n    warning: {warning}"));
        }
    }
    for (feed, site) in sites.feeds().take(SITES_TOLD_MAX) {
        told.push_str(&format!(
            "\n    {}: {} ({})",
            feed.escape_ascii(),
            site.via.word(),
            site.place
        ));
        let mut warnings = idle_patterns(site, active);
        warnings.extend(will_not_work(directory, &site.via));
        if let Some(made) = made_later(&site.via) {
            let made = made.display();
            told.push_str(&format!(
                "\n        note: the directory {made} does not exist, and will be made: is its disk mounted?"
            ));
        }
        if let Via::Batch(via) = &site.via {
            let parms = parms.parms(&site.name, via, None);
            let to = parms.as_ref().ok().map(|parms| &parms.to);
            warnings.extend(not_sent(directory, settings, via, to));
            match parms {
                // Some write 0 on purpose, to keep a site from its batches.
                Ok(parms) if parms.queue == Queue::Batches(0) && !parms.is_off => {
                    warnings.push(
                        "its queue in batchparms is 0, so that it never gets a batch".to_owned(),
                    );
                }
                Ok(parms) => warnings.extend(cannot_arrive(directory, &parms.to)),
                Err(error) => told.push_str(&format!("\n        note: {error}")),
            }
        }
        for warning in warnings {
            told.push_str(&format!(
                "\n        warning: {}: {warning}",
                feed.escape_ascii()
            ));
        }
    }
    if let more @ 1.. = feeds.saturating_sub(SITES_TOLD_MAX) {
        told.push_str(&format!("\n    and {more} more"));
    }
    Ok(told)
}

/// Why this site accepts nothing: what it refuses, it remembers.
fn idle_pattern_of_me(sites: &Sites, active: &Active) -> Option<String> {
    let place = sites.subscription_place()?;
    let fault = matches_no_group(sites.subscription(), active)?;
    Some(format!(
        "{place}: what this site accepts {fault}: every article is refused"
    ))
}

/// Why this site accepts more than its line says.
fn dists_of_me(sites: &Sites) -> Option<String> {
    let own = sites.sites().iter().find(|site| site.is_me)?;
    own.dists.is_some().then(|| format!(
        "{}: distributions of this site have no effect: articles of every distribution are accepted, as in C News",
        own.place
    ))
}

/// Why no article is for a site.
fn idle_patterns(site: &Site, active: &Active) -> Vec<String> {
    let mut warnings = Vec::new();
    // Those of batches of ihave and sendme subscribe to no group.
    let is_for_control = [&b".ihave"[..], b".sendme"]
        .iter()
        .any(|end| site.name.ends_with(end));
    if let Some(warning) = matches_no_group(&site.subs, active).filter(|_| !is_for_control) {
        warnings.push(format!("its pattern of groups {warning}: it gets nothing"));
    }
    if site.dists.as_ref().is_some_and(Pattern::only_excludes) {
        warnings.push(
            "its distributions only exclude, so they match none, and it gets nothing: begin them with `all,'"
                .to_owned(),
        );
    }
    if !is_for_control && site.dists.is_none() && !site.subs.matches(DEFAULT_DISTRIBUTION) {
        warnings.push(
            "its line has no distributions, so that its groups stand for them, as in C News, and do not match articles without Distribution \
             (`world'): it gets next to nothing; write `GROUPS/all'"
                .to_owned(),
        );
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
fn left_over(root: &Path, sites: &Sites) -> Vec<String> {
    let left = feeds::left_over(root, sites).unwrap_or_default();
    let snapshot = match left.is_empty() {
        true => None,
        false => Snapshot::open(root).ok(),
    };
    let Some(snapshot) = snapshot else {
        return Vec::new();
    };
    let names = left.iter().map(Vec::as_slice);
    let (told, _) = feeds::backlogs(root, sites, &snapshot, names);
    let left = told.iter().filter(|feed| !feed.has_all());
    let warning = |feed: &feeds::FeedStatus<'_>| {
        let name = groups::shown(feed.name);
        let deferred = feed.look.deferred.len() as u64;
        let articles = text::counted(feed.backlog.articles + deferred, "article");
        format!(
            "{name} is no longer a site, but {articles} wait for it in feeds/{name}: write the site again, or remove that directory; under another name, `broadsheet feed reset NAME --to DATE' sends what arrived since then"
        )
    };
    left.map(warning).take(SITES_TOLD_MAX).collect()
}

/// Why articles of a site will not travel: a program or directory is missing.
fn will_not_work(directory: &NewsDirectory, via: &Via) -> Option<String> {
    let root = directory.root();
    match via {
        Via::Program { command, .. } | Via::Command(command) => {
            no_program(command, root).or_else(|| no_rights(command, root))
        }
        Via::FileList { path, .. } if !can_be_made(&root.join(path)) => Some(format!(
            "{} cannot be written: this user cannot create files there",
            root.join(path).display()
        )),
        Via::Tree { directory, .. } if !can_be_made(&root.join(directory).join("x")) => {
            Some(format!(
                "{} cannot be written: this user cannot create files there",
                root.join(directory).display()
            ))
        }
        Via::News { directory: other } if !store::is_news_directory(&root.join(other)) => Some(
            format!("{} is not a news directory", root.join(other).display()),
        ),
        _ => None,
    }
}

/// Why a command that the daemon starts cannot do its work. Batches can be sent by another program.
fn no_rights(command: &CommandLine, root: &Path) -> Option<String> {
    gains_rights(command, root).then(|| {
        format!(
            "{} cannot gain its rights from a daemon under its systemd unit (NoNewPrivileges): send batches (`via = {{ batch = ... }}') by `broadsheet sendbatches' from cron instead",
            OsStr::from_bytes(command.program()).display()
        )
    })
}

fn gains_rights(command: &CommandLine, root: &Path) -> bool {
    let place = program_file::find(OsStr::from_bytes(command.program()), root);
    place.is_some_and(|place| program_file::gains_rights(&place))
}

/// Why nothing sends the batches of a site by itself. A daemon under the systemd unit cannot run a uux, which is setuid.
fn not_sent(
    directory: &NewsDirectory,
    settings: &Settings,
    via: &BatchVia,
    to: Option<&To>,
) -> Option<String> {
    let setuid = match to {
        Some(To::Command(command)) if gains_rights(command, directory.root()) => {
            Some(OsStr::from_bytes(command.program()).display())
        }
        _ => None,
    };
    let is_scheduled = via.schedule.is_some() || settings.schedule.sendbatches != When::Off;
    match (is_scheduled, setuid) {
        (true, None) => None,
        (false, None) => Some(
            "nothing sends its batches by itself: set sendbatches in [schedule], or a schedule in its via, or run `broadsheet sendbatches' from cron"
                .to_owned(),
        ),
        (false, Some(program)) => Some(format!(
            "nothing sends its batches by itself: run `broadsheet sendbatches' from cron (not by [schedule]: {program} cannot gain its rights from a daemon under its systemd unit, NoNewPrivileges)"
        )),
        (true, Some(program)) => Some(format!(
            "{program} cannot gain its rights from a daemon under its systemd unit (NoNewPrivileges): leave the schedule off, and run `broadsheet sendbatches' from cron"
        )),
    }
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
fn cannot_arrive(directory: &NewsDirectory, to: &To) -> Option<String> {
    let root = directory.root();
    match to {
        To::Directory(place) if !root.join(place).is_dir() => Some(format!(
            "the directory {} does not exist",
            root.join(place).display()
        )),
        To::Command(command) => no_program(command, root),
        To::Directory(_) => None,
    }
}

fn no_program(command: &CommandLine, root: &Path) -> Option<String> {
    let name = OsStr::from_bytes(command.program());
    let is_missing = program_file::find(name, root).is_none();
    is_missing.then(|| {
        format!(
            "the program {} does not exist or is not executable",
            name.display()
        )
    })
}

/// Whether this user can create a file, and the directories above it.
fn can_be_made(path: &Path) -> bool {
    let existing = path.ancestors().skip(1).find(|above| above.exists());
    existing
        .is_some_and(|above| above.is_dir() && rustix::fs::access(above, Access::WRITE_OK).is_ok())
}

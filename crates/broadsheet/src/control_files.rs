//! The findings of `broadsheet check` in the control files.

use std::path::Path;

use daemon::reopens_at;
use expire::{Explist, Policy, Warning};
use groups::active::{GroupId, READABLE_NUMBER_MAX};
use groups::newsgroups::Newsgroups;
use groups::wildmat::Wildmat;
use groups::{Active, Flag, size as sizes};

use crate::access_review;
use crate::control_file::{FAULTS_TOLD_MAX, NEEDED, counted, read, told_or_faults};
use crate::directory::NewsDirectory;
use crate::filing_review;
use crate::group_flag;
use crate::mail_review;
use crate::server_review;
use crate::site_review;
use crate::text;
use report::failed_tasks::{self, FailedTask};
use settings::{Faults, Settings};

/// One control file, looked over.
pub struct Finding {
    /// Its name in the news directory.
    pub file: &'static str,
    /// Its content in short, or its fault.
    pub told: Result<String, String>,
}

/// Looks over all of them.
pub fn findings(directory: &NewsDirectory, whole: &settings::Read) -> Vec<Finding> {
    let settings = &whole.settings;
    let look = |file, told: &dyn Fn(Vec<u8>) -> Result<String, String>| Finding {
        file,
        told: read(directory, file).and_then(told),
    };
    let groups = read(directory, "active")
        .ok()
        .and_then(|text| Active::parse(text).ok())
        .unwrap_or_else(Active::empty);
    let pulls = (!settings.pulls.is_empty()).then(|| Finding {
        file: "[[pull]]",
        told: pulls(directory, settings, &groups),
    });
    let mut findings = vec![
        look("active", &|text| {
            active(text, directory.root(), settings.junk)
        }),
        look("newsgroups", &|text| newsgroups(text, &groups)),
        Finding {
            file: groups::sys::FILE,
            told: site_review::sites(directory, settings, &groups),
        },
        Finding {
            file: "mailpaths",
            told: moderators(directory, &groups),
        },
        Finding {
            file: "mail",
            told: mail_review::mail(directory, settings, &groups),
        },
        look("explist", &|text| {
            explist(&text, &whole.expiry, &groups, directory.root())
        }),
        Finding {
            file: settings::FILE,
            told: tables(&whole.expiry, &groups, directory.root()),
        },
        Finding {
            file: access::users::FILE,
            told: access_review::users(directory),
        },
        Finding {
            file: "[[access]]",
            told: access_review::entries(directory, settings),
        },
        Finding {
            file: "[nntp]",
            told: server_review::server(directory, settings),
        },
        Finding {
            file: "[auth]",
            told: server_review::program(directory, settings),
        },
        Finding {
            file: "control messages",
            told: control(directory),
        },
        Finding {
            file: "news directory",
            told: access_review::directory(directory),
        },
        Finding {
            file: "segments",
            told: filing_review::store(directory, settings),
        },
        Finding {
            file: "in.coming",
            told: filing_review::incoming(directory),
        },
    ];
    if let Ok(tables) = &whole.expiry {
        findings.push(Finding {
            file: "[expiry]",
            told: Ok(limits(tables, directory.root(), settings.nntp.keep_free)),
        });
    }
    findings.extend(pulls);
    let failed = failed_tasks::read(directory.root());
    if !failed.is_empty() {
        findings.push(Finding {
            file: failed_tasks::FILE,
            told: Ok(failed_text(&failed)),
        });
    }
    findings.extend(
        site_review::failing(directory, settings).map(|text| Finding {
            file: feed::site_directory::FEEDS,
            told: Ok(text),
        }),
    );
    if !settings.backup.to.is_empty() {
        findings.push(Finding {
            file: "[backup]",
            told: Ok(backup(directory, settings)),
        });
    }
    if !settings.offload.url.is_empty() {
        let location = settings.object_location(directory);
        findings.push(Finding {
            file: "[offload]",
            told: offload(&location),
        });
    }
    findings
}

/// The scheduled tasks whose last run failed.
fn failed_text(failed: &[FailedTask]) -> String {
    let mut told = counted(failed.len(), "task");
    for FailedTask { task, at, how } in failed {
        let at = text::utc(*at);
        told.push_str(&format!(
            "\n    warning: the scheduled run of {task} failed at {at}: {how}; the journal has its messages"
        ));
    }
    told
}

/// Where backups go, and what keeps them from it.
fn backup(directory: &NewsDirectory, settings: &Settings) -> String {
    let to = Path::new(&settings.backup.to);
    let shown = to.display();
    let above = to.parent().unwrap_or(to);
    let warning = if !to.is_absolute() {
        Some("it is not a path from `/' on".to_owned())
    } else if to.starts_with(directory.root()) {
        Some("it is in the news directory: choose a directory on another disk".to_owned())
    } else if !to.exists() && !above.is_dir() {
        Some(format!(
            "{} does not exist: mount the disk of the backups, or create the directory",
            above.display()
        ))
    } else {
        None
    };
    let mut text = format!("{shown}, {}", settings.schedule.backup);
    if let Some(warning) = warning {
        text.push_str(&format!("\n    warning: {shown}: {warning}"));
    }
    text
}

/// Makes no request.
fn offload(location: &objects::Location) -> Result<String, String> {
    objects::connect(location).map_err(|error| error.to_string())?;
    if let Some(path) = location.url.strip_prefix("file://")
        && !Path::new(path).is_dir()
    {
        return Err(format!(
            "the directory {path} does not exist: mount its disk, or create it"
        ));
    }
    Ok(format!(
        "{} (`segments list --check' asks the store)",
        location.url
    ))
}

fn active(text: Vec<u8>, root: &Path, has_junk: bool) -> Result<String, String> {
    let is_cut = text.last().is_some_and(|last| *last != b'\n');
    let active = Active::parse(text).map_err(|fault| fault.to_string())?;
    let mut faults: Vec<String> = active.bad_lines().iter().map(ToString::to_string).collect();
    let untold = active.bad_line_count().saturating_sub(faults.len());
    for group in NEEDED {
        if active.find(group.as_bytes()).is_none() {
            faults.push(format!("active has no group `{group}'"));
        }
    }
    faults.extend(group_flag::fault_of_control(&active).map(str::to_owned));
    for alias in active.dangling_aliases() {
        faults.push(format!(
            "group `{}' is an alias that leads to no group",
            groups::escaped(alias)
        ));
    }
    if (is_cut || active.bad_line_count() == 0)
        && let Err(error @ store::Error::Active { .. }) = store::check_active(root)
    {
        faults.push(error.to_string());
    }
    told_or_faults(faults, untold, || {
        let warning = match active.has_ordinary_groups() || has_junk {
            false => {
                "\n    warning: every article is refused before there are more groups: add them (`broadsheet group add')"
            }
            true => "",
        };
        count_by_flag(&active) + warning + &numbers_too_high(&active)
    })
}

/// The high mark above which [`numbers_too_high`] warns: 90 % of the numbers are given.
const NUMBER_WARNED: u64 = READABLE_NUMBER_MAX / 10 * 9;

/// A warning of groups whose articles soon get numbers that no client has to understand (RFC 3977, 6): they are then refused.
fn numbers_too_high(active: &Active) -> String {
    let is_high = |id: &GroupId| active.high(*id) >= NUMBER_WARNED;
    let mut groups = active.ids().filter(is_high);
    let Some(first) = groups.next() else {
        return String::new();
    };
    let more = match groups.count() {
        0 => String::new(),
        more => format!(" and {more} more groups"),
    };
    format!(
        "\n    warning: the numbers in {}{more} are above {NUMBER_WARNED}; {READABLE_NUMBER_MAX} is the highest that clients have to understand \
         (RFC 3977, 6): from there on articles are not filed; give the group a successor in time",
        groups::escaped(active.name(first))
    )
}

/// `826 groups: 805 y, 21 m`.
fn count_by_flag(active: &Active) -> String {
    let count = |letter: u8| {
        active
            .ids()
            .filter(|id| active.flag(*id).letter() == letter)
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

/// `826 groups described, 3 of them not in active`. The list may well be larger than what is carried.
fn newsgroups(text: Vec<u8>, active: &Active) -> Result<String, String> {
    let descriptions = Newsgroups::parse(text).map_err(|fault| fault.to_string())?;
    let faults: Vec<String> = descriptions
        .bad_lines()
        .iter()
        .map(|line| format!("newsgroups line {line}: must be `GROUP tab DESCRIPTION'"))
        .collect();
    let untold = descriptions.bad_line_count().saturating_sub(faults.len());
    told_or_faults(faults, untold, || {
        let absent = descriptions
            .iter()
            .filter(|(group, _)| active.find(group).is_none())
            .count();
        let described = counted(descriptions.iter().count(), "group");
        match absent {
            0 => format!("{described} described"),
            absent => format!("{described} described, {absent} of them not in active"),
        }
    })
}

/// `1 server to pull from`, each with the number of its groups.
fn pulls(
    directory: &NewsDirectory,
    settings: &Settings,
    active: &Active,
) -> Result<String, String> {
    let sources = &settings.pulls;
    let faults = sources.iter().filter_map(|source| {
        let error = feed::Remote::open(directory.root(), &source.server).err()?;
        Some(format!("{}: {error}", source.name))
    });
    let mut told = format!("{} to pull from", counted(sources.len(), "server"));
    for source in sources {
        let wanted = Wildmat::parse(source.groups.as_bytes());
        let groups = active.ids().filter(|id| wanted.matches(active.name(*id)));
        let count = groups.count();
        let groups = counted(count, "group");
        told.push_str(&format!("\n    {}: {groups}", source.name));
        if count == 0 {
            told.push_str(&format!(
                "\n        warning: {}: groups = \"{}\" matches no group of active: nothing is pulled; these are wildmats: \"*\" is all groups, \
                 \"comp.*\" those of comp",
                source.name, source.groups
            ));
        }
    }
    told_or_faults(faults.collect(), 0, || told.clone())
}

/// Whom posts to moderated groups are mailed to, by `mailpaths` and INN's `moderators`; both may be missing.
fn moderators(directory: &NewsDirectory, active: &Active) -> Result<String, String> {
    let (moderators, faults) =
        inject::Moderators::of(directory.root()).map_err(|error| format!("{error:#}"))?;
    told_or_faults(faults, 0, || {
        let lost = |id: &groups::GroupId| {
            active.flag(*id) == Flag::Moderated && moderators.address(active.name(*id)).is_none()
        };
        let lines = counted(moderators.len(), "line");
        match active.ids().filter(lost).count() {
            0 => format!("{lines} of moderators"),
            lost => format!(
                "{lines} of moderators\n    warning: {} without a moderator: posts to them are rejected; add a line such as `GROUP ADDRESS' to mailpaths",
                counted(lost, "moderated group")
            ),
        }
    })
}

/// Every group has to be covered; a line that rules no group is only told.
fn explist(
    text: &[u8],
    expiry: &Result<expire::Tables, Faults>,
    active: &Active,
    root: &Path,
) -> Result<String, String> {
    let archive = match expiry {
        Ok(tables) if tables.rules.is_empty() => tables.archive_directory(),
        Ok(_) => return Ok("not used: expire goes by [[expire]]".to_owned()),
        // The settings have an error; any directory will do.
        Err(_) => Some(&b"/"[..]),
    };
    let list = Explist::parse(text, "explist", archive).map_err(|fault| fault.to_string())?;
    policy(list, active, root, "")
}

/// Permissions to make and remove groups: control.ctl, controlperm and the keys.
fn control(directory: &NewsDirectory) -> Result<String, String> {
    let policy = relay::control::policy::Policy::read(directory.root());
    let policy = policy.map_err(|error| error.to_string())?;
    let keyring = relay::Keyring::read(directory.root()).map_err(|fault| fault.to_string())?;
    let keys = counted(keyring.keys.len(), "key");
    let mut told = format!("{}; {keys} trusted", policy.summary()?);
    let doubts = policy.doubts(&keyring);
    for doubt in doubts.iter().take(FAULTS_TOLD_MAX) {
        told.push_str(&format!("\n    warning: {doubt}"));
    }
    Ok(told)
}

/// The values of `[expiry]`, which limit what expire removes.
fn limits(tables: &expire::Tables, root: &Path, intake_keeps_free: u64) -> String {
    let space = &tables.space;
    let size = |bytes: Option<u64>| bytes.map_or("not set".to_owned(), sizes::bytes);
    let days = tables.expired.map(|life| life.to_string());
    let archive = tables.archive_directory.as_deref();
    let disk = rustix::fs::statvfs(root.join("segments"));
    // A file system that reports no size has no known limit.
    let whole = disk.map_or(0, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
    let warning = match space.keep_free {
        Some(free) if whole > 0 && free >= whole => format!(
            "\n    warning: keep_free is not less than the whole file system ({}), so that no run can reach it: expire removes all articles that it may, or, if \
             these are more than max_fraction, those whose time has come",
            sizes::bytes(whole)
        ),
        Some(free) if free < reopens_at(intake_keeps_free) => format!(
            "\n    warning: keep_free is less than what the intake needs to open ({}: [nntp] keep_free and a sixteenth), so that a disk that is full \
             stays closed for articles after expire: raise it",
            sizes::bytes(reopens_at(intake_keeps_free))
        ),
        _ => String::new(),
    };
    format!(
        "keep_free = {}; max_size = {}; max_fraction = {}; dead_fraction = {}; expired_days = {}; archive_directory = {}{warning}",
        size(space.keep_free),
        size(space.max_size),
        space.max_fraction,
        space.dead_fraction,
        days.as_deref().unwrap_or("not set (/expired/ of explist)"),
        archive.map_or("not set".to_owned(), |path| format!("\"{path}\"")),
    )
}

/// The tables of expire in broadsheet.toml.
fn tables(
    expiry: &Result<expire::Tables, Faults>,
    active: &Active,
    root: &Path,
) -> Result<String, String> {
    let tables = expiry.as_ref().map_err(ToString::to_string)?;
    if tables.rules.is_empty() {
        return Ok("no [[expire]] rules: explist is used".to_owned());
    }
    let list = tables.explist(settings::FILE, None);
    let of = " of [[expire]]; explist is not used";
    policy(list.map_err(|fault| fault.to_string())?, active, root, of)
}

/// The number of rules, with the words `of` behind it, and the warnings.
fn policy(list: Explist, active: &Active, root: &Path, of: &str) -> Result<String, String> {
    let file = list.file.clone();
    let (policy, warnings) = Policy::compile(list, active).map_err(|fault| fault.to_string())?;
    let mut told = counted(policy.rules().len(), "rule") + of;
    // Before there are groups, every rule is idle.
    let is_fresh = active.len() <= NEEDED.len();
    for warning in warnings.iter().take(FAULTS_TOLD_MAX).filter(|_| !is_fresh) {
        let weight = match warning {
            Warning::Unused { .. } => "note",
            Warning::Flat { .. } => "warning",
        };
        told.push_str(&format!("\n    {weight}: {warning}"));
    }
    let archives = expire::archiving::check_archives(&policy, root);
    let returns = policy.returns(&file);
    for warning in returns.iter().chain(&archives).take(FAULTS_TOLD_MAX) {
        told.push_str(&format!("\n    warning: {warning}"));
    }
    Ok(told)
}

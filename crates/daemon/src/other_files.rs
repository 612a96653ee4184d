//! The files of the administrator that the daemon reads only when it needs them, or that the commands it starts read. Its start and a reload
//! look at them too: their errors are reported when they are made, not at night.

use std::fmt;

use expire::archiving::check_archives;
use expire::{Error as ExplistError, Explist, Policy};
use groups::nntp_server::NntpServer;
use groups::sites::Via;
use settings::{Finding, NewsDirectory, Read, Settings, Severity};

/// The errors and warnings of the files.
#[derive(Debug, Default)]
pub struct OtherFaults {
    /// The errors, then the warnings. A warning does not keep other changes from being put into force: a group without a rule for expire (it may
    /// have come by a control message), `@` without an archive directory (a command may give one), archives that are not mounted, and files of
    /// logins at other servers (a feed waits for them).
    pub findings: Vec<Finding>,
    /// One of the errors is in broadsheet.toml.
    pub are_of_settings: bool,
}

impl OtherFaults {
    /// Returns the warnings.
    ///
    /// # Errors
    /// There are errors.
    pub fn refuse(self) -> Result<Vec<Finding>, OtherFaults> {
        if self.errors().next().is_some() {
            return Err(self);
        }
        Ok(self.findings)
    }

    fn errors(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Error)
    }
}

impl std::error::Error for OtherFaults {}

impl fmt::Display for OtherFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors: Vec<String> = self.errors().map(Finding::sentence).collect();
        f.write_str(&errors.join("\n"))
    }
}

/// Reads explist or `[[expire]]`, batchparms, mailpaths, moderators, users, control.ctl, controlperm, the keys, and the logins at the object
/// store and at other servers.
pub fn look_at(directory: &NewsDirectory, read: &Read) -> OtherFaults {
    let root = directory.root();
    let mut faults = faults_of_expiry(directory, read);
    let findings = &mut faults.findings;
    let batchparms = directory.file(feed::serving::BATCHPARMS);
    findings.extend(error_of(feed::Batchparms::read(&batchparms)));
    match inject::Moderators::of(root) {
        Ok((_, lines)) => findings.extend(lines.into_iter().map(Finding::error)),
        Err(error) => findings.push(Finding::error(error.to_string())),
    }
    findings.extend(error_of(access::Users::read(root)));
    findings.extend(error_of(relay::control::policy::Policy::read(root)));
    findings.extend(error_of(relay::Keyring::read(root)));
    if !read.settings.offload.url.is_empty() {
        // No request is made.
        let location = read.settings.object_location(directory);
        findings.extend(error_of(objects::connect(&location)));
    }
    findings.extend(faults_of_logins(directory, &read.settings));
    findings.sort_by_key(|finding| finding.severity);
    faults
}

/// The errors and warnings of explist or `[[expire]]`.
fn faults_of_expiry(directory: &NewsDirectory, read: &Read) -> OtherFaults {
    let tables = match &read.expiry {
        Ok(tables) => tables,
        Err(error) => {
            return OtherFaults {
                findings: vec![Finding::error(error.to_string())],
                are_of_settings: true,
            };
        }
    };
    let mut faults = OtherFaults::default();
    let are_tables = !tables.rules.is_empty();
    let with_archive = |archive| {
        if are_tables {
            tables.explist(settings::FILE, archive)
        } else {
            Explist::read(&directory.file("explist"), archive)
        }
    };
    // `@` is the directory of `expire -a`, which is not known here; any will do. The daemon's own runs have none.
    let list = with_archive(Some(b"/"));
    match with_archive(tables.archive_directory()) {
        Ok(own) => faults.findings.extend(faults_of_archives(directory, own)),
        Err(error) if list.is_ok() => faults.findings.push(Finding::warning(error.to_string())),
        Err(_) => {}
    }
    let covers_all = |list| match directory.active() {
        Ok(active) => Policy::compile(list, &active).map(drop),
        // Its fault is reported where it is needed.
        Err(_) => Ok(()),
    };
    match list.and_then(covers_all) {
        // Expire may be given another one.
        Ok(()) | Err(ExplistError::Missing { .. }) => {}
        Err(error @ ExplistError::Uncovered { .. }) => {
            faults.findings.push(Finding::warning(error.to_string()));
        }
        Err(error) => {
            faults.are_of_settings |= are_tables;
            faults.findings.push(Finding::error(error.to_string()));
        }
    }
    faults
}

/// Warnings of the archives to which expire could not copy now.
fn faults_of_archives(directory: &NewsDirectory, list: Explist) -> Vec<Finding> {
    let policy = directory
        .active()
        .ok()
        .and_then(|active| Policy::compile(list, &active).ok());
    let Some((policy, _)) = policy else {
        return Vec::new();
    };
    let errors = check_archives(&policy, directory.root());
    errors.into_iter().map(Finding::warning).collect()
}

/// Warnings of the files of passwords and certificates of other servers that cannot be used.
fn faults_of_logins(directory: &NewsDirectory, settings: &Settings) -> Vec<Finding> {
    let fault = |name: &str, server: &NntpServer| {
        let error = feed::Remote::open(directory.root(), server).err()?;
        Some(Finding::warning(error.to_string()).at(name))
    };
    let pulls = settings.pulls.iter();
    let mut faults: Vec<Finding> = pulls
        .filter_map(|source| fault(&source.name, &source.server))
        .collect();
    // An error in sys is reported by who needs it.
    if let Ok(sites) = directory.sys(settings) {
        faults.extend(sites.feeds().filter_map(|(name, site)| match &site.via {
            Via::Nntp(via) => fault(&groups::shown(name), &via.server),
            _ => None,
        }));
    }
    faults
}

fn error_of<T, E: fmt::Display>(read: Result<T, E>) -> Option<Finding> {
    let error = read.err()?;
    Some(Finding::error(error.to_string()))
}

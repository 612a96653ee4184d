//! The files of the administrator that the daemon reads only when it needs them, or that the commands it starts read. Its start and a reload
//! look at them too: their errors are reported when they are made, not at night.

use std::fmt;

use expire::archiving::check_archives;
use expire::{Error as ExplistError, Explist, Policy};
use groups::nntp_server::NntpServer;
use groups::sites::Via;
use settings::{NewsDirectory, Read, Settings};

/// The faults of the files.
#[derive(Debug, Default)]
pub struct OtherFaults {
    /// The faults, with file and line.
    pub faults: Vec<String>,
    /// One of them is in broadsheet.toml.
    pub are_of_settings: bool,
    /// The faults that do not keep other changes from being put into force: a group without a rule for expire (it may have come by a control
    /// message), `@` without an archive directory (a command may give one), archives that are not mounted, and files of logins at other servers (a feed waits for them).
    pub warnings: Vec<String>,
}

impl OtherFaults {
    /// # Errors
    /// The faults, if there are any.
    pub fn refuse(self) -> Result<(), OtherFaults> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(self)
        }
    }
}

impl std::error::Error for OtherFaults {}

impl fmt::Display for OtherFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("\n"))
    }
}

/// Looks at explist or `[[expire]]`, batchparms, mailpaths, moderators, users, control.ctl, controlperm, the keys, and the logins at the object
/// store and at other servers.
pub fn look_at(directory: &NewsDirectory, read: &Read) -> OtherFaults {
    let root = directory.root();
    let OtherFaults {
        mut faults,
        mut are_of_settings,
        mut warnings,
    } = OtherFaults::default();
    match &read.expiry {
        Err(error) => {
            are_of_settings = true;
            faults.push(error.to_string());
        }
        Ok(tables) => {
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
                Ok(own) => warnings.extend(faults_of_archives(directory, own)),
                Err(error) if list.is_ok() => warnings.push(error.to_string()),
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
                Err(error @ ExplistError::Uncovered { .. }) => warnings.push(error.to_string()),
                Err(error) => {
                    are_of_settings |= are_tables;
                    faults.push(error.to_string());
                }
            }
        }
    }
    let batchparms = directory.file(feed::serving::BATCHPARMS);
    faults.extend(fault_of(feed::Batchparms::read(&batchparms)));
    match inject::Moderators::of(root) {
        Ok((_, told)) => faults.extend(told),
        Err(error) => faults.push(error.to_string()),
    }
    faults.extend(fault_of(access::Users::read(root)));
    faults.extend(fault_of(relay::control::policy::Policy::read(root)));
    faults.extend(fault_of(relay::Keyring::read(root)));
    if !read.settings.offload.url.is_empty() {
        // No request is made.
        let location = read.settings.object_location(directory);
        faults.extend(fault_of(objects::connect(&location)));
    }
    warnings.extend(faults_of_logins(directory, &read.settings));
    OtherFaults {
        faults,
        are_of_settings,
        warnings,
    }
}

/// The archives to which expire could not copy now.
fn faults_of_archives(directory: &NewsDirectory, list: Explist) -> Vec<String> {
    let policy = directory
        .active()
        .ok()
        .and_then(|active| Policy::compile(list, &active).ok());
    policy.map_or(Vec::new(), |(policy, _)| {
        check_archives(&policy, directory.root())
    })
}

/// The files of passwords and certificates of other servers that cannot be used.
fn faults_of_logins(directory: &NewsDirectory, settings: &Settings) -> Vec<String> {
    let fault = |name: &str, server: &NntpServer| {
        let error = feed::Remote::open(directory.root(), server).err()?;
        Some(format!("{name}: {error}"))
    };
    let pulls = settings.pulls.iter();
    let mut faults: Vec<String> = pulls
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

fn fault_of<T, E: std::fmt::Display>(read: Result<T, E>) -> Option<String> {
    read.err().map(|error| error.to_string())
}

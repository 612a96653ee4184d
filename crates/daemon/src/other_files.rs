//! The files of the administrator that the daemon reads only when it needs them, or that the commands it starts read. Its start and a reload
//! look at them too: their errors are reported when they are made, not at night.

use std::fmt;

use expire::{Error as ExplistError, Explist, Policy};

use settings::{NewsDirectory, Read};

/// The faults of the files.
#[derive(Debug, Default)]
pub struct OtherFaults {
    /// The faults, with file and line.
    pub faults: Vec<String>,
    /// One of them is in broadsheet.toml.
    pub are_of_settings: bool,
    /// A group without a rule for expire. It may have come by a control message, so it does not keep other changes from being put into
    /// force.
    pub uncovered: Option<String>,
}

impl OtherFaults {
    /// # Errors
    /// The faults, if there are any.
    pub fn refuse(self) -> Result<(), OtherFaults> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(self),
        }
    }
}

impl std::error::Error for OtherFaults {}

impl fmt::Display for OtherFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("\n"))
    }
}

/// Looks at explist or `[[expire]]`, batchparms, mailpaths, moderators, users, control.ctl, controlperm, the keys, and the login of the object
/// store.
pub fn look_at(directory: &NewsDirectory, read: &Read) -> OtherFaults {
    let root = directory.root();
    let OtherFaults {
        mut faults,
        mut are_of_settings,
        mut uncovered,
    } = OtherFaults::default();
    match &read.expiry {
        Err(error) => {
            are_of_settings = true;
            faults.push(error.to_string());
        }
        Ok(tables) => {
            let are_tables = !tables.rules.is_empty();
            // `@` is the directory of `expire -a`, which is not known here; any will do.
            let list = match are_tables {
                true => tables.explist(settings::FILE, Some(b"/")),
                false => Explist::read(&directory.file("explist"), Some(b"/")),
            };
            let covers_all = |list| match directory.active() {
                Ok(active) => Policy::compile(list, &active).map(drop),
                // Its fault is reported where it is needed.
                Err(_) => Ok(()),
            };
            match list.and_then(covers_all) {
                // Expire may be given another one.
                Ok(()) | Err(ExplistError::Missing { .. }) => {}
                Err(error @ ExplistError::Uncovered { .. }) => uncovered = Some(error.to_string()),
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
    OtherFaults {
        faults,
        are_of_settings,
        uncovered,
    }
}

fn fault_of<T, E: std::fmt::Display>(read: Result<T, E>) -> Option<String> {
    read.err().map(|error| error.to_string())
}

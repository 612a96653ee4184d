//! The files of the administrator that the daemon reads only when it needs them, or that the commands it starts read. A reload looks at
//! them too: their errors are reported when they are made, not at night.

use expire::{Error as ExplistError, Explist};

use settings::{NewsDirectory, Read};

/// Looks at explist or `[[expire]]`, batchparms, mailpaths, moderators, users, control.ctl, controlperm, the keys, and the login of the object
/// store.
///
/// # Errors
/// Their faults, a line each, with file and line.
pub fn look_at(directory: &NewsDirectory, read: &Read) -> anyhow::Result<()> {
    let root = directory.root();
    let mut faults = Vec::new();
    match &read.expiry {
        Err(error) => faults.push(error.to_string()),
        Ok(tables) => {
            // `@` is the directory of `expire -a`, which is not known here; any will do.
            let list = match tables.rules.is_empty() {
                true => Explist::read(&directory.file("explist"), Some(b"/")),
                false => tables.explist(settings::FILE, Some(b"/")),
            };
            match list {
                // Expire may be given another one.
                Ok(_) | Err(ExplistError::Missing { .. }) => {}
                Err(error) => faults.push(error.to_string()),
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
    match faults.is_empty() {
        true => Ok(()),
        false => Err(anyhow::anyhow!(faults.join("\n"))),
    }
}

fn fault_of<T, E: std::fmt::Display>(read: Result<T, E>) -> Option<String> {
    read.err().map(|error| error.to_string())
}

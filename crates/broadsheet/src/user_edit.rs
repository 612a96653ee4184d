//! What `user add`, `passwd` and `remove` share: the file of users is changed by one at a time.

use access::Users;
use store::Lock;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::Given;

/// Flags that several of them have.
pub const NO_SCRAM: crate::flags::Flag = crate::flags::Flag::new(
    "no-scram",
    "Store no verifier for SCRAM-SHA-256: the user can log in only by sending the password (over TLS).",
);

/// The user that is meant.
///
/// # Errors
/// A name that cannot be one.
pub fn name(given: &Given) -> anyhow::Result<String> {
    let name = given.operands.first().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default().into_owned();
    access::users::check_name(&name).map_err(|what| given.usage(format!("`{name}' {what}")))?;
    Ok(name)
}

/// The user that is to be added, in the form that is kept.
///
/// # Errors
/// A name that cannot be one.
pub fn new_name(given: &Given) -> anyhow::Result<String> {
    let name = name(given)?;
    Ok(access::users::new_name(&name).map_err(|what| given.usage(format!("`{name}' {what}")))?)
}

/// Changes the file of users under the lock. Prints a refusal of `change`, and changes nothing then.
///
/// # Errors
/// The file cannot be read or written.
pub fn edit(
    directory: &NewsDirectory,
    change: impl FnOnce(&mut Users) -> Result<(), access::Error>,
) -> anyhow::Result<Status> {
    let root = directory.root();
    let _lock = Lock::take(root, None)?;
    let mut users = Users::read(root)?;
    if let Err(refusal) = change(&mut users) {
        eprintln!("broadsheet: {refusal}");
        return Ok(Status::NO);
    }
    users.write(root)?;
    Ok(Status::OK)
}

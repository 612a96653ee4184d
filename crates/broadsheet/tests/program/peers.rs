//! Programs of other news systems that tests meet: Debian's, installed, or unpacked under `target/peers` (`make peers`).

use std::path::{Path, PathBuf};

/// The root that `program` (such as `usr/lib/news/bin/innd`) lies under. `None`, and a line that says so, where it is
/// missing.
pub fn root_of(program: &str, package: &str) -> Option<PathBuf> {
    let roots = [unpacked(), PathBuf::from("/")];
    let found = roots.into_iter().find(|root| root.join(program).is_file());
    if found.is_none() {
        eprintln!("skipped: {package} is not there (`make peers' fetches it)");
    }
    found
}

/// Where `make peers` unpacks them.
pub fn unpacked() -> PathBuf {
    // target/debug/broadsheet
    let program = Path::new(env!("CARGO_BIN_EXE_broadsheet"));
    let target = program.ancestors().nth(2).expect("two directories above");
    target.join("peers")
}

/// Is this test run by root? Says so where it is not.
pub fn is_root(what: &str) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|told| told.uid() == 0);
    if !is_root {
        eprintln!("skipped: {what} (only root can do that)");
    }
    is_root
}

/// User and group numbers of a user, from /etc/passwd.
pub fn ids_of(user: &str) -> Option<(u32, u32)> {
    let text = std::fs::read_to_string("/etc/passwd").ok()?;
    let found = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(user)).then_some(())?;
        let mut numbers = fields.skip(1);
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    });
    if found.is_none() {
        eprintln!("skipped: there is no user {user}");
    }
    found
}

/// Gives a whole tree to a user.
pub fn give(dir: &Path, (user, group): (u32, u32)) {
    std::os::unix::fs::lchown(dir, Some(user), Some(group)).expect("given");
    if dir.is_dir() && !dir.is_symlink() {
        for entry in std::fs::read_dir(dir).expect("listed") {
            give(&entry.expect("an entry").path(), (user, group));
        }
    }
}

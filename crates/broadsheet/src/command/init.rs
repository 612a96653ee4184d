//! `broadsheet init`: makes a news directory.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use groups::Active;
use relay::headers_only;

use crate::directory::{DEFAULT, NewsDirectory, SUBDIRECTORIES};
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::keep_free;
use crate::new_directory;
use crate::operand;
use crate::review::NEEDED;
use crate::setup::by_root;
use settings::{Settings, check_name, template};

/// The table.
pub static COMMAND: Command = Command {
    words: &["init"],
    also: &[],
    summary: "create a news directory",
    about: "\
Creates the directory with its settings, control files and an empty spool. The directory must be new
or empty. Only its owner and its group can read it. The groups `control' and `junk' are added if
they are missing. Run by root on a terminal, it asks for the user who will run the server. `setup'
asks for more, and tries what it made.

  broadsheet init --dir news --name news.example.org --active active.list",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new(
            "name",
            "Name of this site in Path and Xref, usually its full host name.",
        )
        .value("NAME"),
        Flag::new(
            "active",
            "Copy the groups, with their marks and flags, from this active file.",
        )
        .value("FILE"),
        Flag::new(
            "newsgroups",
            "Copy the descriptions of groups from this newsgroups file.",
        )
        .value("FILE"),
        Flag::new(
            "etc",
            "Put broadsheet.toml, sys, explist and mailpaths into this directory, and links to them into the news directory. \
            Default for /var/spool/news: /etc/broadsheet, if that exists.",
        )
        .value("DIR"),
        Flag::new(
            "keep-free",
            "Space to leave free on the disk, such as 20 GiB: articles expire earlier when less is left. 0: no limit. Default: a tenth.",
        )
        .value("SIZE"),
        RUN_AS,
    ],
    exits: &[],
    run,
};

/// The user to whom a directory made by root will belong.
pub const RUN_AS: Flag = Flag::new(
    "run-as",
    "Run by root: the user who will run the server and own the directory. Default: its owner if it exists.",
)
.value("USER");

/// The directory of the edited files beside [`DEFAULT`]; packages make it.
const ETC: &str = "/etc/broadsheet";
/// The files that only people change.
const EDITED: [&str; 4] = [settings::FILE, "sys", "explist", "mailpaths"];

const SYS: &str = include_str!("../template/sys");
const EXPLIST: &str = include_str!("../template/explist");
const ARCHIVE_EXPLIST: &str = include_str!("../template/explist.archive");
/// The line of [`EXPLIST`] for all groups, to its life.
const ALL_GROUPS: &str = "all\t\tx\t30\t";
const MAILPATHS: &str = include_str!("../template/mailpaths");

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let root = NewsDirectory::root_to_make(given)?;
    if let Some(status) = by_root::init_as_user(given, &root)? {
        return Ok(status);
    }
    let directory = NewsDirectory::to_make(given)?;
    let settings = Settings {
        name: name(given)?,
        ..Settings::default()
    };
    let active = match given.value("active") {
        Some(path) => operand::read(Path::new(path))?,
        None => Vec::new(),
    };
    let lines = active.iter().filter(|&&byte| byte == b'\n').count();
    let (text, active) = with_needed_groups(active)?;
    if let Some(path) = given.value("active")
        && active.bad_line_count() * 2 > lines
    {
        anyhow::bail!(
            "{}: {} of {lines} lines are not lines of active (GROUP HIGH LOW FLAG); give a list of descriptions with --newsgroups",
            Path::new(path).display(),
            active.bad_line_count()
        );
    }
    let newsgroups = match given.value("newsgroups") {
        Some(path) => operand::read(Path::new(path))?,
        None => Vec::new(),
    };

    let root = directory.root();
    let disk = keep_free::Disk::of(root);
    let keep_free = match given.value("keep-free") {
        Some(size) => disk
            .parse(&size.to_string_lossy())
            .map_err(|fault| given.usage(format!("--keep-free: {fault}")))?,
        None => disk.usual(),
    };
    new_directory::must_be_new(root)?;
    let etc = match given.value("etc") {
        Some(etc) => Some(Path::new(etc)),
        None => usual_etc(root),
    };
    let etc = match etc {
        Some(etc) => Some(new_in(etc)?),
        None => None,
    };
    create_parent(root)?;
    // Posts, users and keys are nobody's business: whatever the umask, its group may read, others nothing.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
    let files = [
        ("active", text.as_slice()),
        ("newsgroups", &newsgroups),
        ("sys", SYS.as_bytes()),
        ("explist", EXPLIST.as_bytes()),
    ];
    let text = keep_free::set_in(&template(&settings), keep_free);
    make_with((root, etc.as_deref()), &settings, &files, &[], &text)?;

    let groups = active.len();
    writeln!(
        out,
        "created the news directory {} for {} with {groups} groups",
        root.display(),
        settings.name
    )?;
    let edited = etc.as_deref().unwrap_or(root).display();
    writeln!(
        out,
        "Edit {}, sys and explist in {edited}, then run `broadsheet check'.",
        settings::FILE
    )?;
    if active.bad_line_count() > 0 {
        writeln!(
            out,
            "active: {} lines have errors; `broadsheet check' reports them.",
            active.bad_line_count()
        )?;
    }
    Ok(Status::OK)
}

/// The directory of the edited files, unless told otherwise.
fn usual_etc(root: &Path) -> Option<&'static Path> {
    let etc = Path::new(ETC);
    (root == Path::new(DEFAULT) && etc.is_dir()).then_some(etc)
}

/// The directory of the edited files has none of them yet.
///
/// # Errors
/// It has one.
pub fn must_be_free_of_settings(root: &Path) -> anyhow::Result<()> {
    usual_etc(root).map_or(Ok(()), |etc| new_in(etc).map(drop))
}

/// Makes a news directory for `setup`, over what an interrupted setup left. Articles are kept for `days`.
pub fn make_by_setup(
    root: &Path,
    settings: &Settings,
    (active, newsgroups): (&[u8], &[u8]),
    days: u64,
    settings_text: &str,
) -> anyhow::Result<()> {
    create_parent(root)?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
    for name in EDITED {
        // A link to the directory of the edited files.
        let link = root.join(name);
        if link.is_symlink() {
            fs::remove_file(&link).with_context(|| format!("cannot remove {}", link.display()))?;
        }
    }
    let explist = EXPLIST.replace(ALL_GROUPS, &format!("all\t\tx\t{days}\t"));
    let files = [
        ("active", active),
        ("newsgroups", newsgroups),
        ("sys", SYS.as_bytes()),
        ("explist", explist.as_bytes()),
    ];
    make_with(
        (root, usual_etc(root)),
        settings,
        &files,
        &[],
        settings_text,
    )
}

/// Makes a news directory for an archive of expire: with groups of `active` and those that every one needs, and an explist
/// that keeps everything. That of a news directory with `headers_only` is declared, too.
pub fn make_archive(root: &Path, settings: &Settings, active: &[u8]) -> anyhow::Result<()> {
    let (active, _) = with_needed_groups(active.to_vec())?;
    let mut files = vec![
        ("active", active.as_slice()),
        ("newsgroups", b""),
        ("sys", SYS.as_bytes()),
        ("explist", ARCHIVE_EXPLIST.as_bytes()),
    ];
    if settings.headers_only {
        files.push((headers_only::FILE, headers_only::TEXT));
    }
    make_with((root, None), settings, &files, &[], &template(settings))
}

/// Makes a news directory with files and settings of another news system; each file with its name, its text, and whether only its owner may
/// read it. Control files that are missing are those of `init`.
pub fn make_moved(
    root: &Path,
    settings: &Settings,
    moved: &[(String, Vec<u8>, bool)],
    settings_text: &str,
) -> anyhow::Result<()> {
    create_parent(root)?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o027));
    let mut files = Vec::new();
    for (name, text) in [("newsgroups", ""), ("sys", SYS), ("explist", EXPLIST)] {
        if moved.iter().all(|(known, _, _)| known != name) {
            files.push((name, text.as_bytes()));
        }
    }
    for (name, text, _) in moved.iter().filter(|(_, _, is_private)| !is_private) {
        files.push((name, text));
    }
    let text = keep_free::set_in(settings_text, keep_free::Disk::of(root).usual());
    make_with((root, None), settings, &files, moved, &text)
}

/// Makes the directory. The files in [`EDITED`] go to `etc`, if there is one.
fn make_with(
    (root, etc): (&Path, Option<&Path>),
    settings: &Settings,
    files: &[(&str, &[u8])],
    private: &[(String, Vec<u8>, bool)],
    settings_text: &str,
) -> anyhow::Result<()> {
    make_directory(root).with_context(|| format!("cannot create {}", root.display()))?;
    for name in SUBDIRECTORIES {
        let path = root.join(name);
        make_directory(&path).with_context(|| format!("cannot create {}", path.display()))?;
    }
    // For secrets that are copied here before the first one is made.
    let keys = root.join("keys");
    store::make_directories(&keys, 0o700)
        .with_context(|| format!("cannot create {}", keys.display()))?;
    let write = |name: &str, bytes: &[u8]| {
        let etc = etc.filter(|_| EDITED.contains(&name));
        let path = etc.unwrap_or(root).join(name);
        if etc.is_some() {
            symlink(&path, root.join(name))
                .with_context(|| format!("cannot create a link in {}", root.display()))?;
        }
        fs::File::create(&path)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .with_context(|| format!("cannot write {}", path.display()))
    };
    for (name, bytes) in files {
        write(name, bytes)?;
    }
    if files.iter().all(|(known, _)| *known != "mailpaths") {
        write("mailpaths", MAILPATHS.as_bytes())?;
    }
    for (name, text, _) in private.iter().filter(|(_, _, is_private)| *is_private) {
        write(name, b"")?;
        let path = root.join(name);
        fs::set_permissions(&path, Permissions::from_mode(0o600))
            .with_context(|| format!("cannot change the mode of {}", path.display()))?;
        write(name, text)?;
    }
    // The first segment and the index are made here, so that the first rnews need not wait for them.
    drop(store::Spool::open(root, settings.store_options())?);
    // The disk may fill before the first expire.
    store::Reserve::of_expire(root).create();
    drop(store::Lock::take_named(root, "lock.expire", false)?);
    // The settings come last: a directory that has them is whole.
    sync(root)?;
    write(settings::FILE, settings_text.as_bytes())?;
    etc.map_or(Ok(()), sync)?;
    sync(root)
}

fn sync(directory: &Path) -> anyhow::Result<()> {
    store::sync_directory(directory).with_context(|| format!("cannot sync {}", directory.display()))
}

/// Makes a directory that its group may read and others may not; one that is there stays its group's as it is.
fn make_directory(path: &Path) -> io::Result<()> {
    store::make_directories(path, 0o750)?;
    let mode = fs::metadata(path)?.permissions().mode();
    match mode & 0o007 {
        0 => Ok(()),
        _ => fs::set_permissions(path, Permissions::from_mode(mode & 0o7770)),
    }
}

fn create_parent(root: &Path) -> anyhow::Result<()> {
    match root.parent() {
        None => Ok(()),
        Some(parent) => store::make_directories(parent, 0o777)
            .with_context(|| format!("cannot create {}", parent.display())),
    }
}

fn name(given: &Given) -> anyhow::Result<String> {
    let Some(name) = given.value("name") else {
        return Err(given
            .usage("--name is missing: the name of this site in Path, such as news.example.org")
            .into());
    };
    let name = name.to_string_lossy().into_owned();
    match check_name(&name) {
        Ok(()) => Ok(name),
        Err(what) => Err(given.usage(format!("--name: {what}")).into()),
    }
}

/// Makes the directory of the edited files, which must have none of them; returns its full name.
fn new_in(etc: &Path) -> anyhow::Result<PathBuf> {
    store::make_directories(etc, 0o750)
        .with_context(|| format!("cannot create {}", etc.display()))?;
    let etc = fs::canonicalize(etc).with_context(|| format!("cannot read {}", etc.display()))?;
    for name in EDITED {
        if fs::symlink_metadata(etc.join(name)).is_ok() {
            bail!(
                "{} is there already; nothing was changed: move it away, or choose another directory with --etc",
                etc.join(name).display()
            );
        }
    }
    Ok(etc)
}

/// The active file with the groups that must be there added at the end where they are missing,
/// with flag `n`, which keeps local posters out; and what cannot be used of it.
pub fn with_needed_groups(mut text: Vec<u8>) -> anyhow::Result<(Vec<u8>, Active)> {
    if text.last().is_some_and(|&byte| byte != b'\n') {
        text.push(b'\n');
    }
    let given = Active::parse(text.clone())?;
    for group in NEEDED {
        if given.find(group.as_bytes()).is_none() {
            text.extend_from_slice(format!("{group} 0000000000 00001 n\n").as_bytes());
        }
    }
    let active = Active::parse(text.clone())?;
    Ok((text, active))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_life_of_articles_can_be_set() {
        assert_eq!(EXPLIST.matches(ALL_GROUPS).count(), 1);
        let days = format!("\t{}\t", expire::explist::KEEP_DAYS);
        assert!(ALL_GROUPS.ends_with(&days));
    }

    #[test]
    fn needed_groups_are_added_only_where_missing() {
        let (text, active) =
            with_needed_groups(b"control.cancel 0 1 n\njunk 5 1 y".to_vec()).unwrap();
        assert_eq!(
            text,
            b"control.cancel 0 1 n\njunk 5 1 y\ncontrol 0000000000 00001 n\n"
        );
        assert_eq!(active.len(), 3);
        assert_eq!(with_needed_groups(text.clone()).unwrap().0, text);
    }
}

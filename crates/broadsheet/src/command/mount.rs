//! `broadsheet mount`: the news directory as a read-only file system.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use daemon::{Role, Sandbox};
use mount::{Caches, Mount};

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// Default of `--cache-seconds`.
const KEPT_SECONDS: u64 = 1;

/// The table.
pub static COMMAND: Command = Command {
    words: &["mount"],
    also: &[],
    summary: "mount the articles as a read-only file system",
    about: "\
Shows the articles at MOUNTPOINT as C News filed them: comp/lang/c/123, with the line ends of this
system; a cross-posted article has a link in each group. Its time is its arrival. A group with
articles has .overview; the root has active, active.times and newsgroups; .id/ID finds an article by
its Message-ID (/ in it is written %2F, and % is written %25), and lists none. What arrives, expires
and is cancelled shows at once, to the kernel's cache: see --cache-seconds. A group named like an article (alt.2600
in alt) hides that article, and the files at the root hide groups whose first part is active or
newsgroups; .id/ still has the articles.

MOUNTPOINT is a directory outside the news directory and its segments, and not one above them.

Runs in the foreground until SIGTERM, or until `fusermount3 -u' or `umount' unmounts it. If it was
killed, the next mount at the same place removes what is left. Needs /dev/fuse, and as another user
than root fusermount3 (Debian: fuse3). `broadsheet status' shows the hits of the caches.

  broadsheet mount --dir /var/spool/news /mnt/news
  broadsheet mount --dir /var/spool/news --allow-other /var/spool/articles",
    operands: Operands {
        shown: "MOUNTPOINT",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        Flag::new(
            "allow-other",
            "Let all users of this machine read it; otherwise only the user who mounts. [[access]] does not apply.",
        ),
        Flag::new(
            "cache-seconds",
            "How long the kernel keeps names and attributes: an article that expired shows so much longer. 0: not at all. Default: 1.",
        )
        .value("SECONDS"),
        Flag::new(
            "name-cache",
            "Names in the name cache; 0: none. Default: 16384.",
        )
        .value("NAMES"),
        Flag::new(
            "offset-cache",
            "Processes in the directory offset cache; 0: none. Default: 256.",
        )
        .value("PROCESSES"),
        Flag::new(
            "linear",
            "Search directories one entry after the other, as 4.3BSD did: for `bench namei'.",
        ),
    ],
    exits: &[Meaning {
        status: Status::OK,
        when: "it was unmounted",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let directory = directory.by_full_name()?;
    let defaults = Caches::default();
    let number = |name, default| Ok::<_, anyhow::Error>(given.number(name)?.unwrap_or(default));
    let caches = Caches {
        names: number("name-cache", defaults.names as u64)? as usize,
        processes: number("offset-cache", defaults.processes as u64)? as usize,
        is_linear: given.has("linear"),
    };
    let at = given.operands.first().map(Path::new);
    let at = at.ok_or_else(|| given.usage("the mount point is missing"))?;
    let sandbox = Sandbox::new(directory.root(), settings.sandbox);
    if !settings.offload.url.is_empty() {
        daemon::fetch_unconfined(&sandbox)?;
    }
    let mount = Mount {
        dir: directory.root(),
        at,
        caches,
        kept: Duration::from_secs(number("cache-seconds", KEPT_SECONDS)?),
        is_for_all: given.has("allow-other"),
        say: daemon::say,
    };
    let ready = || {
        daemon::say(&format!("mounted at {}", at.display()));
        daemon::notify("READY=1");
    };
    let confined = sandbox.clone();
    let confine = move || confined.confine(Role::Reader);
    mount.run((confine, move || sandbox.help_this_thread()), ready)?;
    Ok(Status::OK)
}

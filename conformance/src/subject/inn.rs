//! Starts INN: innd for peers, and nnrpd, which innd starts for readers. Every path in its `inn.conf` is in one directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Absent;
use super::server::{Server, free_address, make_certificate};
use crate::fixture;

/// [`fixture::PASSWORD`] in the format of crypt(3).
const CRYPTED: &str = "$6$conformance$w1s33oK9n/iBdKtxAt9OjmUVEmxdYe1xnq0a2EyphzGwMTCsUShliLg7lyurgQoP8nJd8LWCKZJ6yi2SUO5kS.";

/// Starts innd, and an nnrpd with implicit TLS.
pub(super) fn start() -> Result<Server, Absent> {
    let missing = |why: &str| Absent::Missing(format!("INN: {why}"));
    let root =
        root().ok_or_else(|| missing("inn2 is not installed (`make peers' downloads it)"))?;
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !is_root {
        return Err(missing("only root can start INN as the user news"));
    }
    let news = ids_of_news().ok_or_else(|| missing("there is no user news"))?;
    let programs = root.join("usr/lib/news/bin");
    let runs = as_news(&programs, Path::new("/"), "innconfval")
        .arg("-v")
        .output()
        .is_ok_and(|output| output.status.code().is_some_and(|status| status < 126));
    if !runs {
        return Err(missing("the user news cannot run its programs"));
    }
    let broken = |error: std::io::Error| Absent::Broken(format!("INN: {error}"));
    // The name of a socket may have only 107 octets; a directory of its own under the temporary directory is short.
    let directory = tempfile::tempdir().map_err(broken)?;
    let mut server = Server::new(directory, free_address()?);
    let dir = server.dir().to_path_buf();
    let has_tls = prepare(&dir, &root).map_err(broken)?;
    give(&dir, news).map_err(broken)?;
    let made = as_news(&programs, &dir, "makedbz")
        .args(["-i", "-o", "-f"])
        .arg(dir.join("db/history"))
        .output()
        .map_err(broken)?;
    if !made.status.success() {
        return Err(Absent::Broken(format!("makedbz: {made:?}")));
    }
    let door = server.address;
    let mut innd = as_news(&programs, &dir, "innd");
    innd.args(["-f", "-P", &door.port().to_string()]);
    server.start("innd", &mut innd, door)?;
    if has_tls {
        let door = free_address()?;
        let mut nnrpd = as_news(&programs, &dir, "nnrpd");
        nnrpd.args([
            "-D",
            "-f",
            "-S",
            "-4",
            "127.0.0.1",
            "-p",
            &door.port().to_string(),
        ]);
        server.start("nnrpd", &mut nnrpd, door)?;
        server.tls_address = Some(door);
    }
    Ok(server)
}

/// The root of Debian's package, installed, or unpacked under `target/peers`.
fn root() -> Option<PathBuf> {
    // target/debug/deps/conforms-…
    let own = std::env::current_exe().unwrap_or_default();
    let unpacked = own.ancestors().nth(3).map(|target| target.join("peers"));
    let mut roots = unpacked.into_iter().chain([PathBuf::from("/")]);
    roots.find(|root| root.join("usr/lib/news/bin/innd").is_file())
}

fn ids_of_news() -> Option<(u32, u32)> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some("news")).then_some(())?;
        let mut numbers = fields.skip(1);
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}

fn as_news(programs: &Path, dir: &Path, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=news", "--regid=news", "--clear-groups"]);
    command
        .arg(programs.join(program))
        .env("INNCONF", dir.join("etc/inn.conf"))
        .env("LD_LIBRARY_PATH", programs.with_file_name(""))
        .current_dir(dir);
    command
}

/// Changes the owner of a whole tree.
fn give(dir: &Path, (user, group): (u32, u32)) -> std::io::Result<()> {
    lchown(dir, Some(user), Some(group))?;
    if dir.is_dir() && !dir.is_symlink() {
        for entry in fs::read_dir(dir)? {
            give(&entry?.path(), (user, group))?;
        }
    }
    Ok(())
}

/// Writes the configuration of INN. Returns whether it has a certificate.
fn prepare(dir: &Path, root: &Path) -> std::io::Result<bool> {
    for name in [
        "etc/filter",
        "db",
        "run",
        "spool/articles",
        "spool/overview",
        "spool/incoming/bad",
        "spool/outgoing",
        "spool/archive",
        "log",
        "tmp",
        "http",
    ] {
        fs::create_dir_all(dir.join(name))?;
    }
    let has_tls = make_certificate(&dir.join("etc"));
    if has_tls {
        fs::set_permissions(dir.join("etc/key.pem"), fs::Permissions::from_mode(0o600))?;
    }
    write_settings(dir, root, has_tls)?;
    write_access(dir)?;
    write_lists(dir)?;
    Ok(has_tls)
}

/// Writes the settings: the default age limit, cancels accepted from everybody, no mail.
fn write_settings(dir: &Path, root: &Path, has_tls: bool) -> std::io::Result<()> {
    let (root, peers) = (dir.display(), root.join("usr/lib/news"));
    let peers = peers.display();
    let mut settings = format!(
        "mta: \"/bin/true\"\norganization: \"Test\"\npathhost: inn.example.org\ndomain: example.org\nmailcmd: /bin/true\n\
         ovmethod: tradindexed\nenableoverview: true\nhismethod: hisv6\nicdsynccount: 1\nlinecountfuzz: 0\ndocancels: all\n\
         doinnwatch: false\nbindaddress: 127.0.0.1\nbindaddress6: \"::1\"\nrunasuser: news\nrunasgroup: news\n\
         pathnews: {peers}\npathbin: {peers}/bin\npathcontrol: {peers}/bin/control\npathetc: {root}/etc\npathfilter: {root}/etc/filter\n\
         pathdb: {root}/db\npathlog: {root}/log\npathhttp: {root}/http\npathtmp: {root}/tmp\npathrun: {root}/run\npathspool: {root}/spool\n\
         patharticles: {root}/spool/articles\npathoverview: {root}/spool/overview\npathincoming: {root}/spool/incoming\n\
         pathoutgoing: {root}/spool/outgoing\npatharchive: {root}/spool/archive\n",
    );
    if has_tls {
        settings.push_str(&format!(
            "tlscertfile: {root}/etc/cert.pem\ntlskeyfile: {root}/etc/key.pem\ntlscapath: {root}/etc\n"
        ));
    }
    let etc = dir.join("etc");
    fs::write(etc.join("inn.conf"), settings)?;
    fs::write(
        etc.join("storage.conf"),
        "method tradspool {\n    newsgroups: *\n    class: 0\n}\n",
    )?;
    fs::write(
        etc.join("expire.ctl"),
        "/remember/:10\n*:A:never:never:never\n",
    )?;
    fs::write(etc.join("control.ctl"), "all:*:*:drop\n")?;
    fs::write(etc.join("newsfeeds"), "ME:*::\n")
}

fn write_access(dir: &Path) -> std::io::Result<()> {
    let etc = dir.join("etc");
    fs::write(
        etc.join("incoming.conf"),
        "streaming: true\nmax-connections: 100\npeer ME {\n    hostname: \"localhost, 127.0.0.1\"\n}\n",
    )?;
    fs::write(
        etc.join("readers.conf"),
        format!(
            "auth \"all\" {{\n    auth: \"ckpasswd -f {}/db/newsusers\"\n    default: \"<anybody>\"\n}}\n\
             access \"user\" {{\n    users: \"{}\"\n    newsgroups: \"*\"\n    access: \"RPNA\"\n}}\n\
             access \"anybody\" {{\n    users: \"<anybody>\"\n    newsgroups: \"*,!conf.secret\"\n    access: \"RPN\"\n}}\n",
            dir.display(),
            fixture::USER
        ),
    )?;
    fs::write(
        dir.join("db/newsusers"),
        format!("{}:{CRYPTED}\n", fixture::USER),
    )
}

fn write_lists(dir: &Path) -> std::io::Result<()> {
    let (etc, db) = (dir.join("etc"), dir.join("db"));
    let mut active = String::new();
    for group in ["control", "control.cancel", "junk"] {
        active.push_str(&format!("{group} 0000000000 0000000001 n\n"));
    }
    let mut newsgroups = String::new();
    let mut times = String::new();
    for (group, status, about) in fixture::GROUPS {
        active.push_str(&format!("{group} 0000000000 0000000001 {status}\n"));
        newsgroups.push_str(&format!("{group}\t{about}\n"));
        times.push_str(&format!(
            "{group} {} maker@example.org\n",
            fixture::now() - 7200
        ));
    }
    fs::write(db.join("active"), active)?;
    fs::write(db.join("newsgroups"), newsgroups)?;
    fs::write(db.join("active.times"), times)?;
    fs::write(db.join("history"), "")?;
    fs::write(dir.join("log/news"), "")?;
    for (name, text) in fixture::LISTS {
        fs::write(etc.join(name), text)?;
        fs::write(etc.join(format!("{name}.nnrpd")), text)?;
        fs::write(etc.join(format!("{name}.innd")), text)?;
    }
    Ok(())
}

//! A thread that opens for network threads what lies in the news directory itself: they cannot, because a rule of Landlock for a directory has
//! all files in it, also the passwords and keys.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path};
use std::sync::mpsc::{Sender, channel};

use relay::keyring;

type Job = Box<dyn FnOnce() + Send>;

/// True for the file of users and the directory of keys, which no network thread may read.
pub fn is_secret(name: &OsStr) -> bool {
    name == access::users::FILE || name == keyring::DIRECTORY
}

/// The thread.
#[derive(Debug)]
pub struct Helper(Sender<Job>);

impl Helper {
    /// Starts it. Call it from a thread that is not confined. It ends with this value.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start() -> io::Result<Helper> {
        let (sender, jobs) = channel::<Job>();
        let thread = std::thread::Builder::new().name("opener".to_owned());
        thread.spawn(move || {
            for job in jobs {
                job();
            }
        })?;
        Ok(Helper(sender))
    }

    /// From now on, opens for the calling thread what lies in the news directory, and reads the users for it.
    pub fn serve_this_thread(&self, root: &Path) {
        let jobs = self.0.clone();
        // Under both of its names.
        let roots = [Some(root.to_owned()), root.canonicalize().ok()];
        store::regular::open_by(move |path| {
            if !roots.iter().flatten().any(|root| is_open(root, path)) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let (result, wait) = channel();
            let path = path.to_owned();
            let open = move || drop(result.send(store::regular::open(&path)));
            // The thread ends with the process only.
            let gone = || io::Error::other("the thread that opens files has ended");
            jobs.send(Box::new(open)).map_err(|_| gone())?;
            wait.recv()
                .map_err(|_| gone())
                .and_then(|opened: io::Result<File>| opened)
        });
        let jobs = self.0.clone();
        access::users::read_by(move |job| drop(jobs.send(job)));
    }
}

/// True for a path in the news directory that leads neither out of it nor to a secret.
fn is_open(root: &Path, path: &Path) -> bool {
    let Ok(inner) = path.strip_prefix(root) else {
        return false;
    };
    let mut parts = inner.components();
    let is_plain =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !is_secret(name));
    parts.clone().count() > 0 && parts.all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_the_news_directory_are_opened() {
        let root = Path::new("/news");
        for (path, wanted) in [
            ("/news/active", true),
            ("/news/mounts/0", true),
            ("/news/users", false),
            ("/news/keys", false),
            ("/news/keys/cancel.secret", false),
            ("/news/./users", false),
            ("/news/segments/../keys/cancel.secret", false),
            ("/news/../etc/passwd", false),
            ("/newsletter", false),
            ("/news", false),
            ("active", false),
        ] {
            assert_eq!(is_open(root, Path::new(path)), wanted, "{path}");
        }
    }
}

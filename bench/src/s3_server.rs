//! A server of S3 on this machine (versitygw), for `bench offload`.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const BUCKET: &str = "news-articles";
const KEYS: [&str; 2] = ["bench", "bench-secret"];
/// Time for the server to accept connections.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server; it ends with this value.
pub struct S3Server {
    child: Child,
    port: u16,
}

impl S3Server {
    /// Starts it with an empty bucket below `dir`. `None`: there is no program.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start(dir: &Path) -> Result<Option<S3Server>> {
        let named = std::env::var_os("S3_SERVER").map(PathBuf::from);
        let program = named.unwrap_or_else(|| "versitygw".into());
        let root = dir.join("buckets");
        let sidecar = dir.join("sidecar");
        fs::create_dir_all(root.join(BUCKET))?;
        fs::create_dir_all(&sidecar)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        drop(listener);
        let [key, secret] = KEYS;
        let started = Command::new(&program)
            .args(["--access", key, "--secret", secret, "--quiet"])
            .args(["--keep-alive", "--port", &format!("127.0.0.1:{port}")])
            .arg("posix")
            .arg("--sidecar")
            .arg(sidecar)
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match started {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            child => child.with_context(|| format!("cannot start {}", program.display()))?,
        };
        let server = S3Server { child, port };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if began.elapsed() > PATIENCE {
                bail!("the server of S3 does not listen");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(server))
    }

    /// Makes it the object store of a news directory.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn set(&self, news: &Path) -> Result<()> {
        let path = news.join("broadsheet.toml");
        let settings: String = fs::read_to_string(&path)?
            .lines()
            .map(|line| match line.starts_with("url = ") {
                true => format!(
                    "url = \"s3://{BUCKET}/bench\"\nendpoint = \"http://127.0.0.1:{}\"\n",
                    self.port
                ),
                false => format!("{line}\n"),
            })
            .collect();
        fs::write(&path, settings)?;
        let login = news.join("keys/offload.login");
        fs::create_dir_all(news.join("keys"))?;
        fs::write(&login, KEYS.join("\n"))?;
        fs::set_permissions(&login, fs::Permissions::from_mode(0o600))?;
        Ok(())
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The findings of `broadsheet check` about the NNTP server and the program that checks passwords.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use relay::log::Now;
use relay::program_file;
use server::certificates::Certificates;

use crate::directory::NewsDirectory;
use crate::text;
use settings::Settings;

/// A certificate that ends within this time gets a warning, seconds: 14 days.
const ENDS_SOON_SECONDS: i64 = 14 * 86_400;

/// Where it listens, and its certificate, which is opened as `serve` opens it.
pub fn server(directory: &NewsDirectory, settings: &Settings) -> Result<String, String> {
    let nntp = &settings.nntp;
    let places = [(&nntp.listen, ""), (&nntp.listen_tls, " with TLS")];
    let places = places
        .into_iter()
        .filter(|(addresses, _)| !addresses.trim().is_empty());
    let places: Vec<String> = places
        .map(|(addresses, how)| format!("{}{how}", addresses.trim()))
        .collect();
    let listens = match places.is_empty() {
        true => "no addresses to listen at".to_owned(),
        false => format!("listens at {}", places.join(", ")),
    };
    Ok(match nntp.certificate_files(directory.root()) {
        None => format!("{listens}; no TLS (nntp.certificate is not set)"),
        Some([certificate, key]) => {
            let opened = Certificates::open(&certificate, &key);
            let facts = opened.map_err(|fault| fault.to_string())?.facts();
            let now = Now::read().seconds;
            let ends = match facts.expires {
                None => String::new(),
                Some(at) if at <= now => {
                    return Err(format!(
                        "the certificate {facts} ended at {}: clients refuse it; renew it",
                        text::utc(at)
                    ));
                }
                Some(at) if at <= now.saturating_add(ENDS_SOON_SECONDS) => format!(
                    ", valid until {}\n    warning: the certificate ends within 14 days: renew it",
                    text::utc(at)
                ),
                Some(at) => format!(", valid until {}", text::utc(at)),
            };
            format!("{listens}; certificate {facts}{ends}")
        }
    })
}

/// The program that checks passwords: whether it is there. A note only, since it may come later.
pub fn program(directory: &NewsDirectory, settings: &Settings) -> Result<String, String> {
    let Some(Ok(line)) = settings.auth.command() else {
        return Ok("not set: only users in the file `users' can log in".to_owned());
    };
    let name = OsStr::from_bytes(line.program());
    let shown = Path::new(name).display();
    match program_file::find(name, directory.root()) {
        Some(_) => Ok(format!(
            "{shown} checks names that are not in the file `users'"
        )),
        None => Ok(format!(
            "{shown}\n    note: the program does not exist or is not executable; until it is, only users in the file `users' can log in"
        )),
    }
}

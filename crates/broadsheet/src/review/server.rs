//! The reviews of the NNTP server and of the program that checks passwords.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use relay::log::Now;
use relay::program_file;
use server::certificates::Certificates;
use settings::{Finding, Nntp};

use super::{Content, Context, Errors};
use crate::text;

/// A certificate that ends within this time gets a warning, seconds: 14 days.
const ENDS_SOON_SECONDS: i64 = 14 * 86_400;

/// Where it listens, and its certificate, which is opened as `serve` opens it.
pub fn review(on: &Context<'_>) -> Result<Content, Errors> {
    let nntp = &on.settings().nntp;
    let listens = addresses(nntp);
    let Some([certificate, key]) = nntp.certificate_files(on.root()) else {
        let summary = format!("{listens}; no TLS (nntp.certificate is not set)");
        return Ok(Content::new(summary));
    };
    let opened = Certificates::open(&certificate, &key);
    let facts = opened.map_err(|fault| fault.to_string())?.facts();
    let Some(end) = facts.expires else {
        return Ok(Content::new(format!("{listens}; certificate {facts}")));
    };
    let (now, ends) = (Now::read().seconds, text::utc(end));
    if end <= now {
        let error = Finding::error(format!(
            "the certificate {facts} ended at {ends}: clients refuse it"
        ));
        return Err(error.remedy(';', "renew it").into());
    }
    let warning = (end <= now.saturating_add(ENDS_SOON_SECONDS))
        .then(|| Finding::warning("the certificate ends within 14 days").remedy(':', "renew it"));
    let summary = format!("{listens}; certificate {facts}, valid until {ends}");
    Ok(Content::new(summary).with(warning))
}

/// `listens at ADDRESSES, ADDRESSES with TLS`.
fn addresses(nntp: &Nntp) -> String {
    let places = [(&nntp.listen, ""), (&nntp.listen_tls, " with TLS")];
    let places = places
        .into_iter()
        .filter(|(addresses, _)| !addresses.trim().is_empty());
    let places: Vec<String> = places
        .map(|(addresses, how)| format!("{}{how}", addresses.trim()))
        .collect();
    if places.is_empty() {
        return "no addresses to listen at".to_owned();
    }
    format!("listens at {}", places.join(", "))
}

/// The program that checks passwords. A note if it is missing, since it may come later.
pub fn password_program(on: &Context<'_>) -> Result<Content, Errors> {
    let Some(Ok(line)) = on.settings().auth.command() else {
        return Ok(Content::new(
            "not set: only users in the file `users' can log in",
        ));
    };
    let name = OsStr::from_bytes(line.program());
    let shown = Path::new(name).display();
    if program_file::find(name, on.root()).is_some() {
        return Ok(Content::new(format!(
            "{shown} checks names that are not in the file `users'"
        )));
    }
    let note = "the program does not exist or is not executable; until it is, only users in the file `users' can log in";
    Ok(Content::new(shown.to_string()).with([Finding::note(note)]))
}

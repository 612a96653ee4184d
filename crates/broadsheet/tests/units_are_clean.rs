//! systemd takes the unit as it stands in packaging/, with nothing to remark.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

fn unit() -> String {
    packaged("broadsheet.service")
}

fn packaged(name: &str) -> String {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    std::fs::read_to_string(units.join(name)).unwrap()
}

#[test]
fn systemd_analyze_verify_has_nothing_to_say() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: systemd-analyze is not installed");
        return;
    }
    // The program must be there, and the user too; the manual is not installed here.
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("broadsheet.service");
    let text = unit()
        .replace(
            "/usr/local/bin/broadsheet",
            env!("CARGO_BIN_EXE_broadsheet"),
        )
        .replace("User=news", "User=root")
        .replace("Group=news", "Group=root")
        .replace("Documentation=man:broadsheet-serve(8)\n", "");
    std::fs::write(&path, &text).unwrap();
    let sockets = ["broadsheet-nntp.socket", "broadsheet-nntps.socket"].map(|name| {
        let socket = room.path().join(name);
        let text = packaged(name).replace("Documentation=man:broadsheet-serve(8)\n", "");
        std::fs::write(&socket, text).unwrap();
        socket
    });
    let done = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .args(&sockets)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    // Remarks on units of the machine are not ours.
    let ours: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("broadsheet"))
        .collect();
    assert_eq!(ours, Vec::<&str>::new());
    let wrong = text.replace("Type=notify", "Typ=notify");
    std::fs::write(&path, wrong).unwrap();
    let done = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(told.contains("Typ"), "a fault would be seen: {told}");
}

#[test]
fn sockets_have_the_names_that_the_daemon_knows() {
    for (name, port) in [("nntp", 119), ("nntps", 563)] {
        let text = packaged(&format!("broadsheet-{name}.socket"));
        for line in [
            format!("FileDescriptorName={name}"),
            format!("ListenStream=0.0.0.0:{port}"),
            format!("ListenStream=[::]:{port}"),
            "Service=broadsheet.service".to_owned(),
        ] {
            assert!(text.lines().any(|its| its == line), "{line}");
        }
    }
}

#[test]
fn it_starts_and_reloads_with_commands_that_are_there() {
    let unit = unit();
    for word in ["serve", "reload"] {
        let line = format!("=/usr/local/bin/broadsheet {word}\n");
        assert!(unit.contains(&line), "{unit}");
        let help = Command::new(env!("CARGO_BIN_EXE_broadsheet"))
            .args([word, "--help"])
            .output()
            .unwrap();
        assert!(help.status.success());
    }
}

#[test]
fn units_name_a_manual_page_that_there_is() {
    for name in [
        "broadsheet.service",
        "broadsheet-nntp.socket",
        "broadsheet-nntps.socket",
    ] {
        let text = packaged(name);
        let named = text
            .lines()
            .find_map(|line| line.strip_prefix("Documentation=man:broadsheet-serve("));
        let section = named.unwrap().trim_end_matches(')');
        let page = Command::new(env!("CARGO_BIN_EXE_broadsheet"))
            .args(["man", "serve"])
            .output()
            .unwrap();
        let page = String::from_utf8(page.stdout).unwrap();
        let head = page.lines().find(|line| line.starts_with(".TH ")).unwrap();
        let of_page = head.split(' ').nth(2).unwrap();
        assert_eq!(section, of_page, "{name}: {head}");
    }
}

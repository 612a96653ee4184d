//! systemd takes the unit as it stands in packaging/, with nothing to remark.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use crate::program;

use program::Program;
use program::articles::{id, with};

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

/// The sandbox of the unit hides the boot id of a container, so that the unit passes it on.
#[test]
fn the_unit_and_the_commands_have_one_boot_id() {
    assert!(unit().contains("\nEnvironment=BROADSHEET_BOOT_ID=%b\n"));
    let program = Program::with_news("comp.test 0 1 y\n");
    let filed = |number: usize, boot: &str| {
        let name = format!("batch.{number}");
        program.write(&name, &with(&id("a", number), "comp.test", "", b"x\n"));
        let done = program
            .command(&["rnews", &name])
            .env("BROADSHEET_DIR", program.path("news"))
            .env("BROADSHEET_BOOT_ID", boot)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let told = String::from_utf8(done.stderr).unwrap();
        told.contains("taken up again from the log after an interruption")
    };
    let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let of_container = "5e738c1bea414bad9e60a39d8c026acc";
    filed(1, &own);
    // systemd leaves the hyphens out.
    assert!(!filed(2, &own.replace('-', "")));
    assert!(filed(3, of_container));
    assert!(!filed(4, "5e738c1b-ea41-4bad-9e60-a39d8c026acc\n"));
    program.assert_clean();
}

/// Where a directory of ReadWritePaths is missing, systemd fails to run the condition, takes that for its answer, and skips the service.
#[test]
fn a_missing_directory_is_no_condition() {
    let unit = unit();
    let lines = unit
        .lines()
        .filter_map(|line| line.split_once("ReadWritePaths="));
    let values: Vec<&str> = lines.map(|(_, value)| value).collect();
    assert_eq!(values, ["-/srv/news", "-/var/spool/news"]);
}

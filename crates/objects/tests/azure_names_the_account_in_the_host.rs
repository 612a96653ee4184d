//! Azure itself has the account in the name of the host, and not in the path as emulators have it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use objects::connect;

use crate::a_bucket_keeps_objects::location;
use crate::bucket_server::{BucketServer, Provider};

/// Passes one request on to a server, with another host.
fn pass(client: TcpStream, server: &str, host: &str) -> io::Result<()> {
    let mut client = BufReader::new(client);
    let mut upstream = TcpStream::connect(server)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        client.read_line(&mut line)?;
        let small = line.to_lowercase();
        if let Some(value) = small.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        match small.split(':').next().unwrap_or_default() {
            "host" => write!(upstream, "Host: {host}\r\nConnection: close\r\n")?,
            _ => upstream.write_all(line.as_bytes())?,
        }
        if line.trim().is_empty() {
            break;
        }
    }
    io::copy(&mut (&mut client).take(length), &mut upstream)?;
    io::copy(&mut upstream, client.get_mut())?;
    Ok(())
}

#[test]
fn objects_are_kept_there() {
    let Some(server) = BucketServer::start(Provider::Azure) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut location = location(&server, dir.path());
    let [account, _] = server.keys();
    let endpoint = server.endpoint();
    let address = endpoint.strip_prefix("http://").unwrap();
    let address = address.strip_suffix(&format!("/{account}")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    location.bucket.endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (to, host) = (
        address.to_owned(),
        format!(
            "{account}.blob.localhost:{}",
            address.rsplit(':').next().unwrap()
        ),
    );
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let _ = pass(client.unwrap(), &to, &host);
        }
    });
    let objects = connect(&location).unwrap().objects;
    assert_eq!(objects.length("segments/x").unwrap(), None);
    let content = vec![7; 17 << 20];
    for length in [5, content.len()] {
        let mut whole = content.get(..length).unwrap();
        objects
            .put("segments/x", &mut whole, length as u64)
            .unwrap();
        assert_eq!(objects.length("segments/x").unwrap(), Some(length as u64));
    }
    let mut end = [0; 4];
    objects
        .read("segments/x", content.len() as u64 - 4, &mut end)
        .unwrap();
    assert_eq!(end, [7; 4]);
    // The same object by the path of the account.
    location.bucket.endpoint = endpoint;
    let by_path = connect(&location).unwrap().objects;
    by_path.read("segments/x", 0, &mut end).unwrap();
    objects.delete("segments/x").unwrap();
    objects.delete("segments/x").unwrap();
    assert_eq!(by_path.length("segments/x").unwrap(), None);
}

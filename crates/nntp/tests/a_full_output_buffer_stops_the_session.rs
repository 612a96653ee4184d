//! While the output buffer is full, no further command is read and no further piece of a long reply written.

use crate::backend;

use backend::{ALL, Client, Fake, capabilities};
use nntp::{Next, OUT_BYTES_MAX, OutBuffer, Session};

#[test]
fn a_long_reply_stops() {
    let active: String = (0..50_000)
        .map(|number| format!("misc.group{number} 0000000000 0000000001 y\n"))
        .collect();
    let mut backend = Fake::new(&active);
    let mut session = Session::new(capabilities().into(), ALL, false);
    let mut out = OutBuffer::default();
    let pipeline = "LIST\r\n".repeat(10);
    let mut input = pipeline.as_bytes();
    let mut got = Vec::new();
    let mut stops = 0;
    loop {
        let processed = session.process(input, &mut backend, &mut out);
        input = &input[processed.used..];
        assert!(out.len() < OUT_BYTES_MAX * 2);
        match processed.next {
            Next::Yield => {}
            Next::Drain | Next::More => {
                let before = (session.process(input, &mut backend, &mut out), out.len());
                assert_eq!(before.0.used, 0);
                let ready: Vec<u8> = out.ready().flatten().copied().collect();
                assert_eq!(before.1, ready.len());
                out.sent(ready.len());
                got.extend(ready);
                stops += 1;
                if processed.next == Next::More {
                    break;
                }
            }
            next => panic!("{next:?}"),
        }
    }
    assert!(stops > 20);
    let mut client = Client::new(Fake::new(&active));
    let one = client.say("LIST\r\n");
    assert_eq!(one.iter().filter(|&&byte| byte == b'\n').count(), 50_002);
    assert!(got == one.repeat(10));
}

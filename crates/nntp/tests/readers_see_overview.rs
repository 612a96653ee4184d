//! OVER, XOVER, HDR, XHDR, XPAT (RFC 3977, 8; RFC 2980, 2.6, 2.8, 2.9).

use crate::backend;

use backend::{Client, Fake};

#[test]
fn rows() {
    let mut client = Client::new(Fake::usual());
    client.play(
        "> OVER
         < 412 No newsgroup selected
         > XOVER 1-2
         < 412 No newsgroup selected
         > GROUP misc.test
         < 211 4 1 5 misc.test
         > OVER
         < 224 Overview follows
         < 1\\tno. 1 folded\\tme1@example.com\\tMon, 20 Dec 1993 04:39:21 GMT\\t<1@test>\\t\\t186\\t1\\tXref: host misc.test:1
         < .
         > OVER 2-3
         < 224 Overview follows
         < 2\\tno. 2 folded\\tme2@example.com\\tMon, 20 Dec 1993 04:39:22 GMT\\t<2@test>\\t\\t194\\t2\\tXref: host misc.test:2
         < .
         > OVER 3
         < 423 No such article in this group
         > XOVER 3
         < 224 Overview follows
         < .
         > OVER 5-4
         < 423 No such article in this group
         > OVER 6-
         < 423 No such article in this group
         > OVER <5@test>
         < 224 Overview follows
         < 0\\tno. 5 folded\\tme5@example.com\\tMon, 20 Dec 1993 04:39:25 GMT\\t<5@test>\\t\\t187\\t1\\tXref: host misc.test:5
         < .
         > OVER <none@test>
         < 430 No such article
         > OVER <secret@test>
         < 430 No such article
         > GROUP misc.empty
         < 211 0 8 7 misc.empty
         > OVER
         < 420 No current article
         > OVER 1-
         < 423 No such article in this group",
    );
    client.say("GROUP misc.test\r\n");
    let all = client.say("OVER 0-\r\n");
    assert_eq!(all.iter().filter(|&&byte| byte == b'\n').count(), 6);
    assert_eq!(client.say("OVER -\r\n"), all);
    assert_eq!(client.say("XOVER 1-9223372036854775807\r\n"), all);
}

#[test]
fn headers() {
    let mut client = Client::new(Fake::usual());
    client.play(
        "> HDR Subject
         < 412 No newsgroup selected
         > HDR Subject <1@test>
         < 225 Headers follow
         < 0 no. 1 folded
         < .
         > XHDR Subject <1@test>
         < 221 Header follows
         < <1@test> no. 1 folded
         < .
         > HDR X-Odd <1@test>
         < 225 Headers follow
         < 0 odd 1
         < .
         > HDR Subject <none@test>
         < 430 No such article
         > HDR Subject <secret@test>
         < 430 No such article
         > GROUP misc.test
         < 211 4 1 5 misc.test
         > HDR sUBJECT 2-
         < 225 Headers follow
         < 2 no. 2 folded
         < 4 no. 4 folded
         < 5 no. 5 folded
         < .
         > HDR :lines 1-2
         < 225 Headers follow
         < 1 1
         < 2 2
         < .
         > HDR lines 1
         < 225 Headers follow
         < 1 
         < .
         > XHDR lines 2
         < 221 Header follows
         < 2 2
         < .
         > HDR :bytes
         < 225 Headers follow
         < 1 186
         < .
         > HDR xref 5
         < 225 Headers follow
         < 5 host misc.test:5
         < .
         > HDR x-odd 1-
         < 225 Headers follow
         < 1 odd 1
         < 2 odd 2
         < 4 odd 4
         < 5 odd 5
         < .
         > HDR X-None 1-2
         < 225 Headers follow
         < 1 
         < 2 
         < .
         > XHDR X-None 1-2
         < 221 Header follows
         < 1 (none)
         < 2 (none)
         < .
         > XHDR references 1
         < 221 Header follows
         < 1 (none)
         < .
         > HDR Subject 3
         < 423 No such article in this group
         > XHDR Subject 3
         < 221 Header follows
         < .
         > HDR :x-none 1
         < 503 Unknown metadata item
         > HDR Sub:ject 1
         < 501 Invalid header name",
    );
}

#[test]
fn patterns() {
    let mut client = Client::new(Fake::usual());
    client.play(
        "> XPAT Subject 1- *
         < 412 No newsgroup selected
         > GROUP misc.test
         < 211 4 1 5 misc.test
         > XPAT Subject 1- *2* x
         < 221 Header follows
         < .
         > XPAT Subject 1- *2 folded
         < 221 Header follows
         < 2 no. 2 folded
         < .
         > XPAT x-odd 1- *[45]
         < 221 Header follows
         < 4 odd 4
         < 5 odd 5
         < .
         > XPAT subject <4@test> *4*
         < 221 Header follows
         < <4@test> no. 4 folded
         < .
         > XPAT subject <4@test> *5*
         < 221 Header follows
         < .
         > XPAT subject <9@test> *5*
         < 430 No such article
         > XPAT subject 77- *
         < 221 Header follows
         < .",
    );
}

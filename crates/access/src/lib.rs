//! Who may read, post and send news here. No sockets.

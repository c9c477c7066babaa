//! Ctrl-C: the first lets the frame be finished, the second ends the process at once.
//!
//! Ending at once is safe too: files appear whole or not at all, and `--resume` goes on from the last checkpoint.

use crate::failure::INTERRUPTED;
use crate::text;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static INSTALLED: Once = Once::new();

/// Begins to listen. Where the system does not allow it, Ctrl-C ends the process as usual.
pub fn listen() {
    listen_saying("\nfinishing the frame; Ctrl-C again stops at once");
}

/// The same, with what the first Ctrl-C says.
pub fn listen_saying(answer: &'static str) {
    INSTALLED.call_once(|| {
        let _ = ctrlc::set_handler(move || {
            if ASKED.swap(true, Ordering::SeqCst) {
                std::process::exit(i32::from(INTERRUPTED));
            }
            text::error_line(answer);
        });
    });
}

/// Whether somebody asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
